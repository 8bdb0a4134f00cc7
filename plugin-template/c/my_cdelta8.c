/*
 * my-cdelta8: a codec plugin in one C file, for HDF5, netcdf-c and ncz.
 *
 *     cc -shared -fPIC -O2 -fvisibility=hidden -I <ncz>/codec-api/include -o libmy_cdelta8.so my_cdelta8.c
 *
 * It subtracts from each byte the one `distance` bytes before it: {"id": "my-cdelta8", "distance": 4}. If there is no
 * distance, it is the size of an element, and that is stored with the data. A stream begins with the length of the data
 * in 8 bytes, low byte first, so that a cut or extended one is seen.
 */
#include "ncz_plugin.h"

enum { HEAD = 8 };

/* The distance depends on the chunk if it is 0. */
static int32_t set_local(const ncz_chunk *chunk, uint32_t *words, ncz_error *error) {
    if (words[0]) return NCZ_OK;
    if (chunk->element_size > 255) return ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "large elements need a distance");
    words[0] = (uint32_t)chunk->element_size;
    return NCZ_OK;
}

static size_t max_encoded_len(const uint32_t *words, size_t len) {
    (void)words;
    return HEAD + len;
}

static int32_t encode(ncz_call *call) {
    size_t distance = call->words[0], len = call->input_len;
    const uint8_t *in = call->input;
    uint8_t *out = call->output;
    for (int i = 0; i < HEAD; i++) *out++ = (uint8_t)((uint64_t)len >> 8 * i);
    for (size_t i = 0; i < len; i++) out[i] = (uint8_t)(in[i] - (i < distance ? 0 : in[i - distance]));
    call->output_len = HEAD + len;
    return NCZ_OK;
}

/* The length of the data. Streams come from files: nothing in them is trusted. */
static int32_t decoded_len(ncz_call *call) {
    uint64_t stated = 0;
    if (call->input_len < HEAD) return ncz_fail(call->error, NCZ_ERROR_TRUNCATED, "no length in front");
    for (int i = HEAD - 1; i >= 0; i--) stated = stated << 8 | call->input[i];
    size_t len = call->input_len - HEAD;
    if (stated > len) return ncz_fail(call->error, NCZ_ERROR_TRUNCATED, "");
    if (stated < len) return ncz_fail_with(call->error, NCZ_ERROR_TRAILING, len - stated, 0);
    call->output_len = len;
    return NCZ_OK;
}

/* `decoded_len` has checked the stream, and `output` has room for as many bytes. */
static int32_t decode(ncz_call *call) {
    size_t distance = call->words[0], len = call->input_len - HEAD;
    const uint8_t *in = call->input + HEAD;
    uint8_t *out = call->output;
    for (size_t i = 0; i < len; i++) out[i] = (uint8_t)(in[i] + (i < distance ? 0 : out[i - distance]));
    call->output_len = len;
    return NCZ_OK;
}

static const ncz_codec my_cdelta8 = {
    .name = "my-cdelta8",
    .zarr_v3 = "example.my-cdelta8",
    .summary = "differences of bytes",
    .version = "0.1.0",
    .filter_id = 32802,
    .loss = NCZ_LOSSLESS,
    .has_fixed_len = true,
    .keys = {{"distance", 1, 255, 0}},
    .set_local = set_local,
    .max_encoded_len = max_encoded_len,
    .encode = encode,
    .decode = decode,
    .decoded_len = decoded_len,
};

NCZ_PLUGIN(my_cdelta8);
