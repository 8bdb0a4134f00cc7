/*
 * my-cdelta8: a codec plugin in one C file, for HDF5, netcdf-c and ncz.
 *
 *     cc -shared -fPIC -O2 -fvisibility=hidden -I <ncz>/codec-api/include -o libmy_cdelta8.so my_cdelta8.c
 *
 * It subtracts from each byte the one `distance` bytes before it (1 to 255; 1 if not given). A stream begins with the
 * length of the data in 8 bytes, low byte first, so that a cut or extended one is seen.
 *
 * In order: the codec, the HDF5 filter, a JSON reader, the configuration, the NCZarr codec, the native table. A codec of
 * your own changes the first and the fourth.
 */
#define _GNU_SOURCE /* dladdr */
#include "ncz_codec.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "my-cdelta8"
#define FILTER_ID 32802 /* 32768 to 65534 are for tests; The HDF Group registers others */

/* ---- Errors ---------------------------------------------------------------------------------------------------- */

static size_t append(ncz_error *error, const char *text, size_t len) {
    size_t room = error->text ? error->text_capacity - error->text_len : 0;
    if (len > room) {
        for (len = room; len && ((unsigned char)text[len] & 0xc0) == 0x80;) len--; /* characters stay whole */
    }
    if (len) memcpy(error->text + error->text_len, text, len);
    error->text_len += len;
    return len;
}

static int32_t fail_at(ncz_error *error, int32_t number, const char *key, size_t key_len, const char *text) {
    if (error) {
        error->first = error->second = error->text_len = 0;
        error->key_len = append(error, key, key_len);
        append(error, text, strlen(text));
    }
    return number;
}

static int32_t fail(ncz_error *error, int32_t number, const char *text) {
    return fail_at(error, number, "", 0, text);
}

static int32_t fail_with(ncz_error *error, int32_t number, uint64_t first, uint64_t second) {
    fail(error, number, "");
    if (error) {
        error->first = first;
        error->second = second;
    }
    return number;
}

/* ---- The codec -------------------------------------------------------------------------------------------------- */

enum { HEAD = 8 };

static int32_t encode_bytes(unsigned distance, const uint8_t *in, size_t len, uint8_t *out, size_t capacity,
                            size_t *written, ncz_error *error) {
    if (capacity < HEAD || capacity - HEAD < len) return fail_with(error, NCZ_ERROR_OUTPUT_FULL, (uint64_t)len + HEAD, 1);
    for (int i = 0; i < HEAD; i++) out[i] = (uint8_t)((uint64_t)len >> 8 * i);
    for (size_t i = 0; i < len; i++) out[HEAD + i] = (uint8_t)(in[i] - (i < distance ? 0 : in[i - distance]));
    *written = HEAD + len;
    return NCZ_OK;
}

/* The length of the data. Streams come from files: nothing in them is trusted. */
static int32_t data_len(const uint8_t *in, size_t in_len, size_t *len, ncz_error *error) {
    uint64_t stated = 0;
    if (in_len < HEAD) return fail(error, NCZ_ERROR_TRUNCATED, "no length in front");
    for (int i = HEAD - 1; i >= 0; i--) stated = stated << 8 | in[i];
    *len = in_len - HEAD;
    if (stated > *len) return fail(error, NCZ_ERROR_TRUNCATED, "");
    if (stated < *len) return fail_with(error, NCZ_ERROR_TRAILING, *len - stated, 0);
    return NCZ_OK;
}

static int32_t decode_bytes(unsigned distance, const uint8_t *in, size_t in_len, uint8_t *out, size_t capacity,
                            size_t *written, ncz_error *error) {
    size_t len;
    int32_t status = data_len(in, in_len, &len, error);
    if (status) return status;
    if (capacity < len) return fail_with(error, NCZ_ERROR_OUTPUT_FULL, len, 1);
    for (size_t i = 0; i < len; i++) out[i] = (uint8_t)(in[HEAD + i] + (i < distance ? 0 : out[i - distance]));
    *written = len;
    return NCZ_OK;
}

static int32_t distance_of_words(size_t count, const uint32_t *words, unsigned *distance, ncz_error *error) {
    if (count > 1 || (count && !words)) return fail_at(error, NCZ_ERROR_CONFIG, "cd_values", 9, "expected 0 or 1 words");
    *distance = count ? words[0] : 1;
    if (*distance >= 1 && *distance <= 255) return NCZ_OK;
    return fail_at(error, NCZ_ERROR_CONFIG, "cd_values[0]", 12, "expected a distance from 1 to 255");
}

/* ---- The HDF5 filter (H5Z_class2_t of H5Zpublic.h or H5Zdevelop.h) ---------------------------------------------- */

typedef struct {
    int version; /* H5Z_CLASS_T_VERS */
    int id;
    unsigned encoder_present, decoder_present;
    const char *name;
    int (*can_apply)(int64_t dcpl, int64_t type, int64_t space);
    int (*set_local)(int64_t dcpl, int64_t type, int64_t space);
    size_t (*filter)(unsigned flags, size_t count, const unsigned *words, size_t nbytes, size_t *buf_size, void **buf);
} hdf5_filter;

enum { FLAG_REVERSE = 0x100, PLUGIN_FILTER = 0 };

typedef struct {
    void *(*allocate)(size_t len, int clear);
    int (*release)(void *block);
} allocator;

static void *libc_allocate(size_t len, int clear) { return clear ? calloc(1, len) : malloc(len); }

static int libc_release(void *block) {
    free(block);
    return 0;
}

/* The allocator of the library that calls: that of libhdf5 if it is one, else malloc (netcdf-c). A process can hold
 * several libhdf5, so that the address where a call returns to says which. */
static allocator allocator_of(void *caller) {
    allocator found = {libc_allocate, libc_release};
    Dl_info library, owner;
    if (!dladdr(caller, &library)) return found;
    void *handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) handle = dlopen(NULL, RTLD_LAZY); /* the program itself is not found by its name */
    if (!handle) return found;
    void *allocate = dlsym(handle, "H5allocate_memory"), *release = dlsym(handle, "H5free_memory");
    /* dlsym looks into the libraries that a library needs too */
    if (allocate && release && dladdr(allocate, &owner) && owner.dli_fbase == library.dli_fbase) {
        memcpy(&found.allocate, &allocate, sizeof allocate);
        memcpy(&found.release, &release, sizeof release);
    }
    dlclose(handle);
    return found;
}

static size_t filter(unsigned flags, size_t count, const unsigned *words, size_t nbytes, size_t *buf_size, void **buf) {
    unsigned distance;
    size_t len;
    if (!buf || !buf_size || !*buf || !nbytes || nbytes > PTRDIFF_MAX - HEAD) return 0;
    if (distance_of_words(count, words, &distance, NULL)) return 0;
    if (!(flags & FLAG_REVERSE)) len = nbytes + HEAD;
    else if (data_len(*buf, nbytes, &len, NULL) || !len) return 0;
    allocator memory = allocator_of(__builtin_return_address(0));
    uint8_t *block = memory.allocate(len, 0);
    if (!block) return 0;
    int32_t status = flags & FLAG_REVERSE ? decode_bytes(distance, *buf, nbytes, block, len, &len, NULL)
                                          : encode_bytes(distance, *buf, nbytes, block, len, &len, NULL);
    if (status) { /* 0 is failure, and *buf stays as it was */
        memory.release(block);
        return 0;
    }
    memory.release(*buf);
    *buf = block;
    *buf_size = len;
    return len;
}

static const hdf5_filter hdf5_record = {1, FILTER_ID, 1, 1, NAME, NULL, NULL, filter};

NCZ_EXPORT int H5PLget_plugin_type(void) { return PLUGIN_FILTER; }
NCZ_EXPORT const void *H5PLget_plugin_info(void) { return &hdf5_record; }

/* ---- JSON (RFC 8259), from texts that are not trusted ------------------------------------------------------------ */

enum { DEPTH_MAX = 64 };

typedef struct {
    const char *at, *end;
} span;

static void blanks(span *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) in->at++;
}

static bool take(span *in, char wanted) {
    blanks(in);
    if (in->at == in->end || *in->at != wanted) return false;
    in->at++;
    return true;
}

static bool is_digit(span in) { return in.at < in.end && *in.at >= '0' && *in.at <= '9'; }

static bool digits(span *in) {
    const char *start = in->at;
    while (is_digit(*in)) in->at++;
    return in->at > start;
}

static bool number(span *in) {
    if (in->at < in->end && *in->at == '-') in->at++;
    if (in->at < in->end && *in->at == '0') in->at++; /* no digit may follow */
    else if (!digits(in)) return false;
    if (in->at < in->end && *in->at == '.') {
        in->at++;
        if (!digits(in)) return false;
    }
    if (in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
        in->at++;
        if (in->at < in->end && (*in->at == '+' || *in->at == '-')) in->at++;
        return digits(in);
    }
    return true;
}

static bool word(span *in, const char *wanted) {
    size_t len = strlen(wanted);
    if ((size_t)(in->end - in->at) < len || memcmp(in->at, wanted, len)) return false;
    in->at += len;
    return true;
}

/* Four hexadecimal digits, or -1. */
static long hex4(span *in) {
    long code = 0;
    for (int i = 0; i < 4; i++, in->at++) {
        const char *place = in->at < in->end && *in->at ? strchr("0123456789abcdefABCDEF", *in->at) : NULL;
        if (!place) return -1;
        long digit = place - "0123456789abcdefABCDEF";
        code = code * 16 + (digit < 16 ? digit : digit - 6);
    }
    return code;
}

/* The bytes of the UTF-8 character at the start, or 0. */
static size_t character(span in) {
    const uint8_t *s = (const uint8_t *)in.at;
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (len > (size_t)(in.end - in.at)) return 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
    }
    /* longer than need be, halves of UTF-16 pairs, after U+10FFFF */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

/* Skips an escape after its backslash. The character, or 0xff for one that no name of ours has, or -1. */
static int escape(span *in) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *place = in->at < in->end && *in->at ? strchr(letters, *in->at) : NULL;
    if (place) {
        in->at++;
        return meant[place - letters];
    }
    if (!word(in, "u")) return -1;
    long code = hex4(in);
    if (code >= 0xd800 && code < 0xdc00) { /* the first half of a pair */
        if (!word(in, "\\u")) return -1;
        long low = hex4(in);
        return low >= 0xdc00 && low < 0xe000 ? 0xff : -1;
    }
    if (code < 0 || (code >= 0xdc00 && code < 0xe000)) return -1;
    return code == 0 || code > 0x7f ? 0xff : (int)code;
}

/* Skips a string. `out`, if not null, gets its text; one that does not fit begins with 0xff and is not a name of ours. */
static bool string(span *in, char *out, size_t room) {
    size_t len = 0;
    if (!take(in, '"')) return false;
    while (in->at < in->end && *in->at != '"') {
        size_t bytes = character(*in);
        int code = (unsigned char)*in->at;
        if (!bytes || code < 0x20) return false;
        in->at += bytes;
        if (code == '\\' && (code = escape(in)) < 0) return false;
        if (out && len + 1 < room) out[len] = (char)(bytes == 1 ? code : 0xff);
        len++;
    }
    if (out) {
        out[len < room ? len : 0] = '\0';
        if (len >= room) memcpy(out, "\xff", 2);
    }
    return take(in, '"');
}

static bool value(span *in, int depth) {
    if (depth > DEPTH_MAX) return false;
    if (take(in, '{')) {
        if (take(in, '}')) return true;
        do {
            if (!string(in, NULL, 0) || !take(in, ':') || !value(in, depth + 1)) return false;
        } while (take(in, ','));
        return take(in, '}');
    }
    if (take(in, '[')) {
        if (take(in, ']')) return true;
        do {
            if (!value(in, depth + 1)) return false;
        } while (take(in, ','));
        return take(in, ']');
    }
    if (in->at < in->end && *in->at == '"') return string(in, NULL, 0);
    return word(in, "null") || word(in, "true") || word(in, "false") || number(in);
}

/* Whether a text is a JSON object and nothing else. The functions after this one read such objects. */
static bool is_object(span text) {
    span in = text;
    if (!take(&in, '{')) return false;
    in = text;
    if (!value(&in, 0)) return false;
    blanks(&in);
    return in.at == in.end;
}

/* The next value after a '[', '{', ':' or ','. */
static bool next_value(span *in, span *found) {
    blanks(in);
    found->at = in->at;
    if (!value(in, 0)) return false;
    found->end = in->at;
    return true;
}

/* Goes through the members of an object: `in` is the object at first. `raw` is the key with its quotes. */
static bool next_member(span *in, char *key, size_t room, span *raw, span *found) {
    if (!take(in, '{') && !take(in, ',')) return false;
    span start = *in;
    if (!next_value(in, raw) || !string(&start, key, room)) return false; /* {} */
    return take(in, ':') && next_value(in, found);
}

/* The value of a key, the last if there are several; none: `at` is null. */
static span member(span object, const char *wanted) {
    span in = object, raw, found, last = {NULL, NULL};
    char key[32];
    while (in.at && next_member(&in, key, sizeof key, &raw, &found)) {
        if (!strcmp(key, wanted)) last = found;
    }
    return last;
}

static bool integer(span text, uint64_t *out) {
    *out = 0;
    if (!text.at || text.at == text.end) return false;
    for (; is_digit(text); text.at++) {
        unsigned digit = (unsigned)(*text.at - '0');
        if (*out > (UINT64_MAX - digit) / 10) return false;
        *out = *out * 10 + digit;
    }
    return text.at == text.end;
}

/* ---- The configuration ------------------------------------------------------------------------------------------- */

static void put(const ncz_sink *sink, const char *text, size_t len) {
    if (sink) sink->write(sink->context, text, len);
}

/* `has_id`: the name of the codec is among the keys, as in NCZarr. */
static int32_t distance_of_json(span text, uint32_t dialect, bool has_id, const ncz_sink *notes, unsigned *distance,
                                ncz_error *error) {
    span in = text, raw, found;
    char key[32], id[32] = "";
    uint64_t wanted;
    if (dialect != NCZ_NUMCODECS && dialect != NCZ_ZARR_V3) return fail(error, NCZ_ERROR_UNSUPPORTED, "unknown dialect");
    if (!is_object(text)) return fail(error, NCZ_ERROR_UNSUPPORTED, "not a JSON object, or nested too deeply");
    *distance = 1;
    while (next_member(&in, key, sizeof key, &raw, &found)) {
        if (!strcmp(key, "distance")) {
            /* netcdf-c before 4.10 wrote numbers as strings */
            if (dialect == NCZ_NUMCODECS && *found.at == '"') found.at++, found.end--;
            if (!integer(found, &wanted) || wanted < 1 || wanted > 255)
                return fail_at(error, NCZ_ERROR_CONFIG, key, strlen(key), "expected an integer from 1 to 255");
            *distance = (unsigned)wanted;
        } else if (has_id && !strcmp(key, "id")) {
            if (!string(&found, id, sizeof id)) return fail_at(error, NCZ_ERROR_CONFIG, "id", 2, "expected a string");
        } else if (dialect == NCZ_ZARR_V3) {
            size_t len = (size_t)(raw.end - raw.at) - 2;
            return fail_at(error, NCZ_ERROR_CONFIG, raw.at + 1, len, "there is no such key");
        } else {
            put(notes, "unknown key ", 12);
            put(notes, raw.at, (size_t)(raw.end - raw.at));
            put(notes, " is ignored\n", 12);
        }
    }
    return has_id && strcmp(id, NAME) ? fail_at(error, NCZ_ERROR_CONFIG, "id", 2, "another codec") : NCZ_OK;
}

/* ---- The NCZarr codec (NCZ_codec_t of netcdf_filter_build.h) ----------------------------------------------------- */

typedef struct {
    int version, sort; /* NCZ_CODEC_CLASS_VER, NCZ_CODEC_HDF5 */
    const char *codec_id;
    unsigned hdf5_id;
    void (*initialize)(void);
    void (*finalize)(void);
    int (*codec_to_hdf5)(const char *json, size_t *count, unsigned **words);
    int (*hdf5_to_codec)(size_t count, const unsigned *words, char **json);
    int (*modify_parameters)(int ncid, int varid, size_t *visible_count, unsigned **visible, size_t *working_count,
                             unsigned **working);
} nczarr_codec;

enum { NC_EINVAL = -36, NC_ENOMEM = -61, NC_EFILTER = -132 };

static int nczarr_status(int32_t status) { return !status ? 0 : status == NCZ_ERROR_CONFIG ? NC_EINVAL : NC_EFILTER; }

static int codec_to_hdf5(const char *json, size_t *count, unsigned **words) {
    unsigned distance;
    if (!json || !count || !words) return NC_EINVAL;
    span text = {json, json + strlen(json)};
    int32_t status = distance_of_json(text, NCZ_NUMCODECS, true, NULL, &distance, NULL);
    if (status) return nczarr_status(status);
    unsigned *made = malloc(sizeof *made);
    if (!made) return NC_ENOMEM;
    *made = distance;
    *words = made;
    *count = 1;
    return 0;
}

static int hdf5_to_codec(size_t count, const unsigned *words, char **json) {
    unsigned distance;
    if (!json) return NC_EINVAL;
    int32_t status = distance_of_words(count, words, &distance, NULL);
    if (status) return nczarr_status(status);
    char *made = malloc(48);
    if (!made) return NC_ENOMEM;
    snprintf(made, 48, "{\"id\": \"" NAME "\", \"distance\": %u}", distance);
    *json = made;
    return 0;
}

static const nczarr_codec nczarr_record = {1,    1,    NAME,          FILTER_ID,     NULL,
                                           NULL, codec_to_hdf5, hdf5_to_codec, NULL};

NCZ_EXPORT const void *NCZ_get_codec_info(void) { return &nczarr_record; }

/* ---- The native table (ncz_codec.h) ------------------------------------------------------------------------------ */

struct ncz_config {
    unsigned distance;
};
struct ncz_coder {
    unsigned distance;
};
struct ncz_scratch { /* what a thread reuses from call to call: nothing here */
    char unused;
};

static int32_t no_memory(ncz_error *error) { return fail(error, NCZ_ERROR_UNSUPPORTED, "no memory"); }

static int32_t new_config(unsigned distance, ncz_config **config, ncz_error *error) {
    ncz_config *made = malloc(sizeof *made);
    if (!made) return no_memory(error);
    made->distance = distance;
    *config = made;
    return NCZ_OK;
}

static int32_t new_coder(unsigned distance, ncz_coder **coder, ncz_error *error) {
    ncz_coder *made = malloc(sizeof *made);
    if (!made) return no_memory(error);
    made->distance = distance;
    *coder = made;
    return NCZ_OK;
}

static int32_t describe(uint32_t codec, const ncz_sink *out, ncz_error *error) {
    char text[256];
    if (codec) return fail(error, NCZ_ERROR_UNSUPPORTED, "this plugin has one codec");
    int len = snprintf(text, sizeof text,
                       "{\"name\": \"%s\", \"summary\": \"differences of bytes\", \"filter_id\": %d, \"numcodecs\": [\"%s\"], "
                       "\"zarr_v3\": [\"example.%s\"], \"has_working_params\": false, \"has_checksum\": false, \"lossy\": false}",
                       NAME, FILTER_ID, NAME, NAME);
    put(out, text, (size_t)len);
    return NCZ_OK;
}

static int32_t config_from_json(uint32_t codec, uint32_t dialect, const char *json, size_t json_len,
                                const ncz_sink *notes, ncz_config **config, ncz_error *error) {
    unsigned distance;
    span text = {json, json + json_len};
    if (codec) return fail(error, NCZ_ERROR_UNSUPPORTED, "this plugin has one codec");
    int32_t status = distance_of_json(text, dialect, false, notes, &distance, error);
    return status ? status : new_config(distance, config, error);
}

static int32_t config_from_params(uint32_t codec, const uint32_t *params, size_t count, ncz_config **config,
                                  ncz_error *error) {
    unsigned distance;
    if (codec) return fail(error, NCZ_ERROR_UNSUPPORTED, "this plugin has one codec");
    int32_t status = distance_of_words(count, params, &distance, error);
    return status ? status : new_config(distance, config, error);
}

static int32_t config_to_json(const ncz_config *config, uint32_t dialect, const ncz_sink *out, ncz_error *error) {
    char text[64];
    if (dialect != NCZ_NUMCODECS && dialect != NCZ_ZARR_V3) return fail(error, NCZ_ERROR_UNSUPPORTED, "unknown dialect");
    put(out, text, (size_t)snprintf(text, sizeof text, "{\"distance\": %u}", config->distance));
    return NCZ_OK;
}

static int32_t config_to_params(const ncz_config *config, const ncz_sink *out, ncz_error *error) {
    char text[32];
    (void)error;
    put(out, text, (size_t)snprintf(text, sizeof text, "[%u]", config->distance));
    return NCZ_OK;
}

static void config_free(ncz_config *config) { free(config); }

/* The bytes of an array of the shape that a request states. */
static bool array_len(span array, uint64_t *len) {
    span shape = member(array, "shape"), found;
    uint64_t factor;
    if (!integer(member(member(array, "dtype"), "size"), len) || !shape.at || !take(&shape, '[')) return false;
    if (take(&shape, ']')) return true;
    do {
        if (!next_value(&shape, &found) || !integer(found, &factor)) return false;
        if (factor && *len > UINT64_MAX / factor) return false;
        *len *= factor;
    } while (take(&shape, ','));
    return true;
}

static int32_t bind(const ncz_config *config, const char *request, size_t request_len, const ncz_sink *response,
                    ncz_config **stored, ncz_coder **coder, ncz_error *error) {
    span text = {request, request + request_len};
    if (!is_object(text)) return fail(error, NCZ_ERROR_UNSUPPORTED, "a request that is not a JSON object");
    span input = member(text, "input"), array = member(input, "array"), bytes = member(input, "bytes");
    span exact = member(bytes, "exact"), at_most = member(bytes, "at_most");
    const char *kind = array.at || exact.at ? "exact" : at_most.at ? "at_most" : NULL;
    uint64_t len = 0;
    char output[128] = "{}";
    if (array.at ? !array_len(array, &len)
                 : !bytes.at || *bytes.at != '{' || (kind && !integer(exact.at ? exact : at_most, &len)))
        return fail(error, NCZ_ERROR_UNSUPPORTED, "an input that is neither array nor bytes, or too large");
    if (len > PTRDIFF_MAX - HEAD) return fail(error, NCZ_ERROR_UNSUPPORTED, "a chunk that does not fit in memory");
    if (kind) snprintf(output, sizeof output, "{\"%s\": %llu}", kind, (unsigned long long)len + HEAD);

    ncz_config *new_stored = NULL;
    int32_t status = new_config(config->distance, &new_stored, error);
    if (status) return status;
    if ((status = new_coder(config->distance, coder, error))) {
        free(new_stored);
        return status;
    }
    *stored = new_stored;
    char answer[256];
    int answer_len = snprintf(answer, sizeof answer, "{\"working\": [%u], \"output\": {\"bytes\": %s}}", config->distance, output);
    put(response, answer, (size_t)answer_len);
    return NCZ_OK;
}

static int32_t coder_from_params(uint32_t codec, const uint32_t *params, size_t count, ncz_coder **coder,
                                 ncz_error *error) {
    unsigned distance;
    if (codec) return fail(error, NCZ_ERROR_UNSUPPORTED, "this plugin has one codec");
    int32_t status = distance_of_words(count, params, &distance, error);
    return status ? status : new_coder(distance, coder, error);
}

static void coder_free(ncz_coder *coder) { free(coder); }

static int32_t scratch_new(const ncz_coder *coder, ncz_scratch **scratch, ncz_error *error) {
    (void)coder;
    ncz_scratch *made = calloc(1, sizeof *made);
    if (!made) return no_memory(error);
    *scratch = made;
    return NCZ_OK;
}

static void scratch_free(ncz_scratch *scratch) { free(scratch); }

static size_t max_encoded_len(const ncz_coder *coder, size_t len) {
    (void)coder;
    return len > PTRDIFF_MAX - HEAD ? NCZ_NO_LENGTH : len + HEAD;
}

static int32_t encode(const ncz_coder *coder, ncz_scratch *scratch, const uint8_t *input, size_t input_len,
                      uint8_t *output, size_t output_capacity, size_t *written, ncz_error *error) {
    (void)scratch;
    return encode_bytes(coder->distance, input, input_len, output, output_capacity, written, error);
}

static int32_t decode(const ncz_coder *coder, ncz_scratch *scratch, const uint8_t *input, size_t input_len,
                      uint8_t *output, size_t output_capacity, size_t *written, ncz_error *error) {
    (void)scratch;
    return decode_bytes(coder->distance, input, input_len, output, output_capacity, written, error);
}

static int32_t decoded_len(const ncz_coder *coder, const uint8_t *input, size_t input_len, size_t *len,
                           ncz_error *error) {
    (void)coder;
    return data_len(input, input_len, len, error);
}

static const char *version(void) {
    return "0.1.0";
}

static const ncz_plugin plugin = {
    .size = sizeof(ncz_plugin),
    .api_version = NCZ_API_VERSION,
    .codec_count = 1,
    .describe = describe,
    .config_from_json = config_from_json,
    .config_from_params = config_from_params,
    .config_to_json = config_to_json,
    .config_to_params = config_to_params,
    .config_free = config_free,
    .bind = bind,
    .coder_from_params = coder_from_params,
    .coder_free = coder_free,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .max_encoded_len = max_encoded_len,
    .encode = encode,
    .decode = decode,
    .decoded_len = decoded_len,
    .version = version,
};

NCZ_EXPORT const ncz_plugin *ncz_codec_plugin(void) { return &plugin; }
