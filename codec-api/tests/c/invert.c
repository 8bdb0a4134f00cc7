/* A codec in C for tests: inverts every byte. Offers the native face only. */
#include "ncz_codec.h"

#include <stdlib.h>
#include <string.h>

/* The same numbers as the asserts in src/abi/native.rs. */
#define CHECK(name, condition) typedef char check_##name[(condition) ? 1 : -1]
CHECK(sink, sizeof(void *) != 8 || sizeof(ncz_sink) == 16);
CHECK(error, sizeof(void *) != 8 || sizeof(ncz_error) == 48);
CHECK(error_text, sizeof(void *) != 8 || offsetof(ncz_error, text) == 16);
CHECK(error_key, sizeof(void *) != 8 || offsetof(ncz_error, key_len) == 40);
CHECK(plugin, sizeof(void *) != 8 || sizeof(ncz_plugin) == 144);
CHECK(describe, sizeof(void *) != 8 || offsetof(ncz_plugin, describe) == 16);
CHECK(bind, sizeof(void *) != 8 || offsetof(ncz_plugin, bind) == 64);
CHECK(encode, sizeof(void *) != 8 || offsetof(ncz_plugin, encode) == 112);
CHECK(decoded_len, sizeof(void *) != 8 || offsetof(ncz_plugin, decoded_len) == 128);

struct ncz_config {
    int unused;
};
struct ncz_coder {
    int unused;
};
struct ncz_scratch {
    int unused;
};

static void put(const ncz_sink *sink, const char *text) { sink->write(sink->context, text, strlen(text)); }

static int32_t fail(ncz_error *error, int32_t number, const char *text) {
    size_t len = strlen(text);
    if (len > error->text_capacity) len = error->text_capacity;
    memcpy(error->text, text, len);
    error->text_len = len;
    error->key_len = number == NCZ_ERROR_CONFIG ? strcspn(text, " ") : 0;
    return number;
}

static int32_t describe(uint32_t codec, const ncz_sink *out, ncz_error *error) {
    (void)codec;
    (void)error;
    put(out, "{\"name\": \"invert\", \"summary\": \"inverts bytes\", \"filter_id\": null, \"numcodecs\": [\"invert\"],");
    put(out, " \"zarr_v3\": [], \"has_working_params\": false, \"has_checksum\": false, \"lossy\": false}");
    return NCZ_OK;
}

static int32_t new_config(ncz_config **config) {
    *config = calloc(1, sizeof **config);
    return *config ? NCZ_OK : NCZ_ERROR_UNSUPPORTED;
}

static int32_t new_coder(ncz_coder **coder) {
    *coder = calloc(1, sizeof **coder);
    return *coder ? NCZ_OK : NCZ_ERROR_UNSUPPORTED;
}

static int32_t config_from_json(uint32_t codec, uint32_t dialect, const char *json, size_t json_len,
                                const ncz_sink *notes, ncz_config **config, ncz_error *error) {
    (void)codec;
    if (dialect != NCZ_NUMCODECS) return fail(error, NCZ_ERROR_UNSUPPORTED, "only numcodecs");
    if (json_len != 2 || memcmp(json, "{}", 2)) put(notes, "all keys are ignored\n");
    return new_config(config);
}

static int32_t config_from_params(uint32_t codec, const uint32_t *params, size_t count, ncz_config **config,
                                  ncz_error *error) {
    (void)codec;
    (void)params;
    if (count) return fail(error, NCZ_ERROR_CONFIG, "params");
    return new_config(config);
}

static int32_t config_to_json(const ncz_config *config, uint32_t dialect, const ncz_sink *out, ncz_error *error) {
    (void)config;
    (void)dialect;
    (void)error;
    put(out, "{}");
    return NCZ_OK;
}

static int32_t config_to_params(const ncz_config *config, const ncz_sink *out, ncz_error *error) {
    (void)config;
    (void)error;
    put(out, "[]");
    return NCZ_OK;
}

static void config_free(ncz_config *config) { free(config); }

static int32_t bind(const ncz_config *config, const char *request, size_t request_len, const ncz_sink *response,
                    ncz_config **stored, ncz_coder **coder, ncz_error *error) {
    (void)config;
    (void)request;
    (void)request_len;
    if (new_config(stored)) return fail(error, NCZ_ERROR_UNSUPPORTED, "no memory");
    if (new_coder(coder)) {
        free(*stored);
        return fail(error, NCZ_ERROR_UNSUPPORTED, "no memory");
    }
    put(response, "{\"working\": [], \"output\": {\"bytes\": {}}, \"more\": 1}");
    return NCZ_OK;
}

static int32_t coder_from_params(uint32_t codec, const uint32_t *params, size_t count, ncz_coder **coder,
                                 ncz_error *error) {
    (void)codec;
    (void)params;
    if (count) return fail(error, NCZ_ERROR_CONFIG, "params");
    return new_coder(coder);
}

static void coder_free(ncz_coder *coder) { free(coder); }

static int32_t scratch_new(const ncz_coder *coder, ncz_scratch **scratch, ncz_error *error) {
    (void)coder;
    (void)error;
    *scratch = calloc(1, sizeof **scratch);
    return *scratch ? NCZ_OK : NCZ_ERROR_UNSUPPORTED;
}

static void scratch_free(ncz_scratch *scratch) { free(scratch); }

static size_t max_encoded_len(const ncz_coder *coder, size_t len) {
    (void)coder;
    return len;
}

static int32_t invert(const ncz_coder *coder, ncz_scratch *scratch, const uint8_t *input, size_t input_len,
                      uint8_t *output, size_t output_capacity, size_t *written, ncz_error *error) {
    (void)coder;
    (void)scratch;
    if (output_capacity < input_len) {
        error->first = input_len;
        error->second = 1;
        return fail(error, NCZ_ERROR_OUTPUT_FULL, "");
    }
    for (size_t i = 0; i < input_len; i++) output[i] = (uint8_t)~input[i];
    *written = input_len;
    return NCZ_OK;
}

static int32_t decoded_len(const ncz_coder *coder, const uint8_t *input, size_t input_len, size_t *len,
                           ncz_error *error) {
    (void)coder;
    (void)input;
    (void)error;
    *len = input_len;
    return NCZ_OK;
}

static const char *version(void) { return "1.2.3"; }

static const ncz_plugin plugin = {
    sizeof(ncz_plugin), NCZ_API_VERSION,   1,          describe,     config_from_json, config_from_params,
    config_to_json,     config_to_params,  config_free, bind,        coder_from_params, coder_free,
    scratch_new,        scratch_free,      max_encoded_len, invert,  invert,           decoded_len,
    version,
};

const ncz_plugin *ncz_codec_plugin(void) { return &plugin; }
