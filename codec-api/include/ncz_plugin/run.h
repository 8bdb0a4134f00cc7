/* Calls of the codec's functions, with the checks that all codecs need. Included by ncz_plugin.h only. */
#ifndef NCZ_PLUGIN_RUN_H
#define NCZ_PLUGIN_RUN_H

/* The largest number of bytes that `len` bytes encode to, or NCZ_NO_LENGTH. */
static inline size_t nczp_most(const ncz_codec *codec, const uint32_t *words, size_t len) {
    size_t most = len > PTRDIFF_MAX ? NCZ_NO_LENGTH : codec->max_encoded_len(words, len);
    return most > PTRDIFF_MAX ? NCZ_NO_LENGTH : most;
}

/* The decoded length that the stream in `call` states, or NCZ_NO_LENGTH. */
static inline int32_t nczp_stated(const ncz_codec *codec, ncz_call call, size_t *len) {
    call.output_len = NCZ_NO_LENGTH;
    int32_t status = codec->decoded_len ? codec->decoded_len(&call) : NCZ_OK;
    *len = call.output_len;
    return status;
}

/* `call`: without `output_len`, and with null pointers where lengths are 0. */
static inline int32_t nczp_run(const ncz_codec *codec, bool decodes, ncz_call call, size_t *written) {
    uint8_t nothing = 0;
    size_t stated = NCZ_NO_LENGTH;
    int32_t status;
    if (!call.input) call.input = &nothing;
    if (!call.output) call.output = &nothing;
    call.output_len = 0;
    if (decodes) {
        if ((status = nczp_stated(codec, call, &stated))) return status;
    } else {
        size_t most = nczp_most(codec, call.words, call.input_len);
        if (most == NCZ_NO_LENGTH)
            return ncz_fail(call.error, NCZ_ERROR_UNSUPPORTED, "a chunk that is longer than the codec takes");
        if (most > call.output_capacity) return ncz_fail_with(call.error, NCZ_ERROR_OUTPUT_FULL, most, 1);
    }
    if (stated != NCZ_NO_LENGTH) {
        if (stated > call.output_capacity) return ncz_fail_with(call.error, NCZ_ERROR_OUTPUT_FULL, stated, 1);
        call.output_capacity = stated;
    }
    if ((status = decodes ? codec->decode(&call) : codec->encode(&call))) return status;
    if (call.output_len > call.output_capacity || (stated != NCZ_NO_LENGTH && call.output_len != stated))
        return ncz_fail_with(call.error, NCZ_ERROR_SIZE, call.output_capacity, call.output_len);
    *written = call.output_len;
    return NCZ_OK;
}

#endif
