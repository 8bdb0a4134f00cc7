/* The native table of `ncz_codec.h`, which says what its functions do. Included by ncz_plugin.h only. */
#ifndef NCZ_PLUGIN_NATIVE_H
#define NCZ_PLUGIN_NATIVE_H

struct ncz_config {
    const ncz_codec *codec;
    uint32_t words[NCZ_KEYS_MAX]; /* some may be open */
};

struct ncz_coder {
    const ncz_codec *codec;
    uint32_t words[NCZ_KEYS_MAX]; /* all have values */
};

struct ncz_scratch {
    const ncz_codec *codec;
    void *own; /* the codec's */
};

static inline int32_t nczp_no_codec(ncz_error *error) {
    return ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "the plugin has no codec of this number");
}

static inline int32_t nczp_new_config(const ncz_codec *codec, const uint32_t *words, ncz_config **config,
                                      ncz_error *error) {
    ncz_config *made = (ncz_config *)malloc(sizeof *made);
    if (!made) return nczp_no_memory(error);
    made->codec = codec;
    memcpy(made->words, words, sizeof made->words);
    *config = made;
    return NCZ_OK;
}

static inline int32_t nczp_new_coder(const ncz_codec *codec, const uint32_t *words, ncz_coder **coder,
                                     ncz_error *error) {
    ncz_coder *made = (ncz_coder *)malloc(sizeof *made);
    if (!made) return nczp_no_memory(error);
    made->codec = codec;
    memcpy(made->words, words, sizeof made->words);
    *coder = made;
    return NCZ_OK;
}

static inline int32_t nczp_describe(const ncz_codec *codec, const ncz_sink *out, ncz_error *error) {
    if (!codec) return nczp_no_codec(error);
    nczp_put_text(out, "{\"name\": ");
    nczp_put_string(out, codec->name);
    nczp_put_text(out, ", \"summary\": ");
    nczp_put_string(out, codec->summary);
    nczp_put_text(out, ", \"filter_id\": ");
    if (codec->filter_id) nczp_put_number(out, codec->filter_id);
    else nczp_put_text(out, "null");
    nczp_put_text(out, ", \"numcodecs\": [");
    nczp_put_string(out, codec->name);
    nczp_put_text(out, "], \"zarr_v3\": [");
    if (codec->zarr_v3) nczp_put_string(out, codec->zarr_v3);
    nczp_put_text(out, "], \"has_working_params\": ");
    nczp_put_text(out, codec->set_local ? "true" : "false");
    nczp_put_text(out, ", \"has_checksum\": ");
    nczp_put_text(out, codec->has_checksum ? "true" : "false");
    nczp_put_text(out, ", \"lossy\": ");
    nczp_put_text(out, codec->loss == NCZ_LOSSY ? "true}" : codec->loss == NCZ_LOSSLESS ? "false}" : "null}");
    return NCZ_OK;
}

static inline int32_t nczp_config_from_json(const ncz_codec *codec, uint32_t dialect, const char *json,
                                            size_t json_len, const ncz_sink *notes, ncz_config **config,
                                            ncz_error *error) {
    uint32_t words[NCZ_KEYS_MAX];
    nczp_span text = {json, json_len ? json + json_len : json};
    if (!codec) return nczp_no_codec(error);
    int32_t status = nczp_of_json(codec, text, dialect, false, notes, words, error);
    return status ? status : nczp_new_config(codec, words, config, error);
}

static inline int32_t nczp_config_from_params(const ncz_codec *codec, const uint32_t *params, size_t count,
                                              ncz_config **config, ncz_error *error) {
    uint32_t words[NCZ_KEYS_MAX];
    if (!codec) return nczp_no_codec(error);
    int32_t status = nczp_of_words(codec, params, count, true, words, error);
    return status ? status : nczp_new_config(codec, words, config, error);
}

static inline int32_t nczp_coder_from_params(const ncz_codec *codec, const uint32_t *params, size_t count,
                                             ncz_coder **coder, ncz_error *error) {
    uint32_t words[NCZ_KEYS_MAX];
    if (!codec) return nczp_no_codec(error);
    int32_t status = nczp_of_words(codec, params, count, false, words, error);
    return status ? status : nczp_new_coder(codec, words, coder, error);
}

static inline int32_t nczp_config_to_json(const ncz_config *config, uint32_t dialect, const ncz_sink *out,
                                          ncz_error *error) {
    int32_t status = nczp_check_dialect(config->codec, dialect, error);
    if (!status) nczp_put_config(config->codec, config->words, NULL, out);
    return status;
}

static inline int32_t nczp_config_to_params(const ncz_config *config, const ncz_sink *out, ncz_error *error) {
    (void)error;
    nczp_put_words(config->codec, config->words, out);
    return NCZ_OK;
}

static inline void nczp_config_free(ncz_config *config) { free(config); }

/* Reads a list of lengths; false if it is none or has more than NCZP_RANK_MAX. */
static inline bool nczp_read_shape(nczp_span list, uint64_t *shape, size_t *rank) {
    nczp_span found;
    if (!list.at || *list.at != '[') return false;
    for (*rank = 0; nczp_next_item(&list, &found); ++*rank) {
        if (*rank == NCZP_RANK_MAX || !nczp_length(found, &shape[*rank])) return false;
    }
    return true;
}

/* Reads what a request says of the chunk. */
static inline bool nczp_read_chunk(nczp_span request, uint64_t *shape, ncz_chunk *chunk) {
    static const char *const kinds[] = {"opaque", "bool", "int", "uint", "float", "complex"};
    nczp_span env = nczp_member(request, "env"), array = nczp_member(nczp_member(request, "input"), "array");
    nczp_span type = nczp_member(array.at ? array : env, "dtype");
    nczp_span kind = nczp_member(type, "kind");
    uint64_t size;
    int i = 0;
    while (i < 6 && !nczp_is(kind, kinds[i])) i++;
    if (i == 6 || !nczp_length(nczp_member(type, "size"), &size) || size > PTRDIFF_MAX) return false;
    chunk->kind = (ncz_kind)i;
    chunk->is_big_endian = nczp_is(nczp_member(type, "order"), "big");
    chunk->element_size = (size_t)size;
    chunk->shape = shape;
    nczp_span list = array.at ? nczp_member(array, "shape") : nczp_member(env, "chunk_shape");
    return nczp_read_shape(list, shape, &chunk->rank);
}

/* Reads how many bytes enter: `*kind` is "exact", "at_most", or null if nothing is known. */
static inline bool nczp_read_len(nczp_span request, const ncz_chunk *chunk, const char **kind, uint64_t *len) {
    nczp_span input = nczp_member(request, "input"), bytes = nczp_member(input, "bytes");
    *kind = "exact";
    if (nczp_member(input, "array").at) {
        *len = chunk->element_size;
        for (size_t i = 0; i < chunk->rank; i++) {
            if (chunk->shape[i] && *len > UINT64_MAX / chunk->shape[i]) return false;
            *len *= chunk->shape[i];
        }
        return true;
    }
    nczp_span exact = nczp_member(bytes, "exact"), at_most = nczp_member(bytes, "at_most");
    if (exact.at) return nczp_length(exact, len);
    *kind = at_most.at ? "at_most" : NULL;
    *len = 0;
    return at_most.at ? nczp_length(at_most, len) : bytes.at && *bytes.at == '{';
}

/* The length of the output: as far as it is known. */
static inline int32_t nczp_put_output(const ncz_codec *codec, const uint32_t *words, const char *kind, uint64_t len,
                                      const ncz_sink *out, ncz_error *error) {
    size_t most = kind && len <= PTRDIFF_MAX ? nczp_most(codec, words, (size_t)len) : NCZ_NO_LENGTH;
    bool is_exact = kind && !strcmp(kind, "exact");
    if (is_exact && most == NCZ_NO_LENGTH)
        return ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "a chunk that is longer than the codec takes");
    nczp_put_text(out, ", \"output\": {\"bytes\": {");
    if (most != NCZ_NO_LENGTH) {
        nczp_put_text(out, is_exact && codec->has_fixed_len ? "\"exact\": " : "\"at_most\": ");
        nczp_put_number(out, (int64_t)most);
    }
    nczp_put_text(out, "}}}");
    return NCZ_OK;
}

static inline int32_t nczp_bind(const ncz_config *config, const char *request, size_t request_len,
                                const ncz_sink *response, ncz_config **stored, ncz_coder **coder, ncz_error *error) {
    nczp_span text = {request, request_len ? request + request_len : request};
    uint64_t shape[NCZP_RANK_MAX], len;
    uint32_t words[NCZ_KEYS_MAX];
    const char *kind;
    ncz_chunk chunk;
    if (!nczp_is_object(text) || !nczp_read_chunk(text, shape, &chunk) || !nczp_read_len(text, &chunk, &kind, &len))
        return ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "a request that cannot be read, or a chunk too large for memory");
    memcpy(words, config->words, sizeof words);
    int32_t status = nczp_localize(config->codec, &chunk, words, error);
    if (status) return status;
    nczp_put_text(response, "{\"working\": ");
    nczp_put_words(config->codec, words, response);
    if ((status = nczp_put_output(config->codec, words, kind, len, response, error))) return status;
    ncz_config *new_stored = NULL;
    if ((status = nczp_new_config(config->codec, words, &new_stored, error))) return status;
    if ((status = nczp_new_coder(config->codec, words, coder, error))) {
        free(new_stored);
        return status;
    }
    *stored = new_stored;
    return NCZ_OK;
}

static inline void nczp_coder_free(ncz_coder *coder) { free(coder); }

static inline int32_t nczp_scratch_new(const ncz_coder *coder, ncz_scratch **scratch, ncz_error *error) {
    ncz_scratch *made = (ncz_scratch *)calloc(1, sizeof *made);
    if (!made) return nczp_no_memory(error);
    made->codec = coder->codec;
    if (made->codec->scratch_new && !(made->own = made->codec->scratch_new(coder->words))) {
        free(made);
        return nczp_no_memory(error);
    }
    *scratch = made;
    return NCZ_OK;
}

static inline void nczp_scratch_free(ncz_scratch *scratch) {
    if (scratch && scratch->own) scratch->codec->scratch_free(scratch->own);
    free(scratch);
}

static inline size_t nczp_max_encoded_len(const ncz_coder *coder, size_t len) {
    return nczp_most(coder->codec, coder->words, len);
}

static inline int32_t nczp_encode(const ncz_coder *coder, ncz_scratch *scratch, const uint8_t *input,
                                  size_t input_len, uint8_t *output, size_t output_capacity, size_t *written,
                                  ncz_error *error) {
    ncz_call call = {coder->words, scratch->own, input, input_len, output, output_capacity, 0, error};
    return nczp_run(coder->codec, false, call, written);
}

static inline int32_t nczp_decode(const ncz_coder *coder, ncz_scratch *scratch, const uint8_t *input,
                                  size_t input_len, uint8_t *output, size_t output_capacity, size_t *written,
                                  ncz_error *error) {
    ncz_call call = {coder->words, scratch->own, input, input_len, output, output_capacity, 0, error};
    return nczp_run(coder->codec, true, call, written);
}

static inline int32_t nczp_decoded_len(const ncz_coder *coder, const uint8_t *input, size_t input_len, size_t *len,
                                       ncz_error *error) {
    uint8_t nothing = 0;
    ncz_call call = {coder->words, NULL, input ? input : &nothing, input_len, &nothing, 0, 0, error};
    return nczp_stated(coder->codec, call, len);
}

/* The codecs are numbered in the order of the arguments. */
#define NCZP_NATIVE(...)                                                                                              \
    static const ncz_codec *const nczp_codecs[] = {__VA_ARGS__};                                                      \
    static const ncz_codec *nczp_codec_of(uint32_t number) {                                                          \
        return number < sizeof nczp_codecs / sizeof *nczp_codecs ? nczp_codecs[number] : NULL;                        \
    }                                                                                                                 \
    static int32_t nczp_describe_number(uint32_t codec, const ncz_sink *out, ncz_error *error) {                      \
        return nczp_describe(nczp_codec_of(codec), out, error);                                                       \
    }                                                                                                                 \
    static int32_t nczp_config_from_json_number(uint32_t codec, uint32_t dialect, const char *json, size_t json_len,  \
                                                const ncz_sink *notes, ncz_config **config, ncz_error *error) {       \
        return nczp_config_from_json(nczp_codec_of(codec), dialect, json, json_len, notes, config, error);            \
    }                                                                                                                 \
    static int32_t nczp_config_from_params_number(uint32_t codec, const uint32_t *params, size_t count,               \
                                                  ncz_config **config, ncz_error *error) {                            \
        return nczp_config_from_params(nczp_codec_of(codec), params, count, config, error);                           \
    }                                                                                                                 \
    static int32_t nczp_coder_from_params_number(uint32_t codec, const uint32_t *params, size_t count,                \
                                                 ncz_coder **coder, ncz_error *error) {                               \
        return nczp_coder_from_params(nczp_codec_of(codec), params, count, coder, error);                             \
    }                                                                                                                 \
    static const char *nczp_version(void) { return nczp_codecs[0]->version; }                                         \
    static const ncz_plugin nczp_table = {sizeof(ncz_plugin),                                                         \
                                          NCZ_API_VERSION,                                                            \
                                          sizeof nczp_codecs / sizeof *nczp_codecs,                                   \
                                          nczp_describe_number,                                                       \
                                          nczp_config_from_json_number,                                               \
                                          nczp_config_from_params_number,                                             \
                                          nczp_config_to_json,                                                        \
                                          nczp_config_to_params,                                                      \
                                          nczp_config_free,                                                           \
                                          nczp_bind,                                                                  \
                                          nczp_coder_from_params_number,                                              \
                                          nczp_coder_free,                                                            \
                                          nczp_scratch_new,                                                           \
                                          nczp_scratch_free,                                                          \
                                          nczp_max_encoded_len,                                                       \
                                          nczp_encode,                                                                \
                                          nczp_decode,                                                                \
                                          nczp_decoded_len,                                                           \
                                          nczp_version};                                                              \
    NCZ_EXPORT const ncz_plugin *ncz_codec_plugin(void) { return &nczp_table; }                                       \
    NCZ_EXPORT const ncz_plugin *ncz_codec_plugin(void)

#endif
