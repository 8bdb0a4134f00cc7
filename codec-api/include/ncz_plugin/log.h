/* What failed, for programs that hide it: NCZ_LOG and NCZ_LOG_FILE. Included by ncz_plugin.h only. */
#ifndef NCZ_PLUGIN_LOG_H
#define NCZ_PLUGIN_LOG_H

/* Why a call failed. */
typedef struct nczp_failure {
    int32_t status;
    ncz_error error; /* its text is `text` */
    char text[512];
} nczp_failure;

static inline void nczp_begin(nczp_failure *failure) {
    ncz_error error = {0, 0, failure->text, sizeof failure->text, 0, 0};
    failure->error = error;
    failure->status = NCZ_OK;
}

/* Prints a line for a call from the code at an address that failed, if NCZ_LOG says so. */
static inline void nczp_log(const ncz_codec *codec, const char *call, const nczp_failure *failure, void *caller) {
    static const char *const meanings[] = {
        "no bytes", "the stream is truncated", "bytes follow the end of the stream", "another length than expected",
        "the checksum does not match", "the stream is damaged", "the output is longer than expected",
        "the configuration is not usable", "not supported", "the plugin reported failure", "a bug in the codec",
        "these values cannot be encoded"};
    const ncz_error *error = &failure->error;
    const char *level = getenv("NCZ_LOG"), *path = getenv("NCZ_LOG_FILE");
    if (!level || !*level || !strcmp(level, "0") || !strcasecmp(level, "off")) return;
    char line[2048], numbers[64] = "";
    Dl_info info;
    bool is_known = failure->status >= 0 && (size_t)failure->status < sizeof meanings / sizeof *meanings;
    bool is_found = dladdr(caller, &info) && info.dli_fname;
    if (error->first || error->second)
        snprintf(numbers, sizeof numbers, " (%lld, %lld)", (long long)error->first, (long long)error->second);
    int key = (int)error->key_len, rest = (int)(error->text_len - error->key_len);
    snprintf(line, sizeof line - 1, "ncz: %.64s: %s -> failed: %s%s%s%.*s%s%.*s (called by %.500s)", codec->name, call,
             is_known ? meanings[failure->status] : "an unknown error", numbers, key ? ": " : "", key, failure->text,
             rest ? ": " : "", rest, failure->text + key, is_found ? info.dli_fname : "an unknown library");
    strcat(line, "\n");
    /* A program with more rights than its user does not write to a file that the user chooses. */
    bool may_open = path && *path && getuid() == geteuid() && getgid() == getegid();
    FILE *file = may_open ? fopen(path, "a") : NULL;
    fputs(line, file ? file : stderr);
    if (file) fclose(file);
}

#endif
