/* Errors of a codec: `ncz_fail` and `ncz_fail_with` are for its functions. Included by ncz_plugin.h only. */
#ifndef NCZ_PLUGIN_ERROR_H
#define NCZ_PLUGIN_ERROR_H

static inline size_t nczp_append(ncz_error *error, const char *text, size_t len) {
    size_t room = error->text ? error->text_capacity - error->text_len : 0;
    if (len > room) {
        for (len = room; len && ((unsigned char)text[len] & 0xc0) == 0x80;) len--; /* characters stay whole */
    }
    if (len) memcpy(error->text + error->text_len, text, len);
    error->text_len += len;
    return len;
}

static inline int32_t nczp_fail_at(ncz_error *error, int32_t number, const char *key, size_t key_len,
                                   const char *text) {
    if (error) {
        error->first = error->second = 0;
        error->text_len = 0;
        error->key_len = nczp_append(error, key, key_len);
        nczp_append(error, text, strlen(text));
    }
    return number;
}

/* Describes an error and returns its number: `return ncz_fail(call->error, NCZ_ERROR_CORRUPT, "a block has no end");`.
 * The text is a lower-case fragment that does not repeat what the number means; it can be empty. */
static inline int32_t ncz_fail(ncz_error *error, int32_t number, const char *text) {
    return nczp_fail_at(error, number, "", 0, text);
}

/* The same for errors that state numbers: NCZ_ERROR_TRAILING, NCZ_ERROR_SIZE, NCZ_ERROR_OUTPUT_FULL and
 * NCZ_ERROR_PLUGIN. */
static inline int32_t ncz_fail_with(ncz_error *error, int32_t number, uint64_t first, uint64_t second) {
    ncz_fail(error, number, "");
    if (error) {
        error->first = first;
        error->second = second;
    }
    return number;
}

static inline int32_t nczp_no_memory(ncz_error *error) { return ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "no memory"); }

#endif
