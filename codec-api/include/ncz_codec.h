/*
 * The native codec interface of ncz, version 1.1.
 *
 * A shared library offers codecs to ncz by exporting one function,
 *
 *     const ncz_plugin *ncz_codec_plugin(void);
 *
 * which returns a table that lives as long as the library. (`ncz_codec::export!` generates it for plugins in
 * Rust.) A library may also export the entry points of an HDF5 filter plugin (`H5PLget_plugin_type`,
 * `H5PLget_plugin_info`) and of an NCZarr codec (`NCZ_get_codec_info`); ncz prefers the native table. A library
 * without an HDF5 filter must not export those names at all.
 *
 * Rules
 * - No function pointer of the table is null, except `version`. Tables grow at their end only: `size` is
 *   `sizeof(ncz_plugin)` when the plugin was compiled. Hosts refuse a table with another major version.
 * - Handles (`ncz_config`, `ncz_coder`, `ncz_scratch`) belong to the plugin. The host frees each exactly once, and a
 *   scratch before the coder that made it. Configurations and coders may be used from any thread, by several at a
 *   time; a scratch by one thread at a time, and only with the coder that made it.
 * - `encode` and `decode` should not allocate memory; their working memory is in the scratch.
 * - Functions return 0 or one of the NCZ_ERROR_ numbers, and then describe the error in `*error`. On failure they
 *   return no handle. The host tolerates any bytes in an output buffer after a failure.
 * - Pointers to bytes may be null where the length is 0. Input and output never overlap.
 * - Text is UTF-8 by pointer and length, without a terminating zero. JSON and streams come from files and are not
 *   trusted.
 * - No exception, longjmp or panic leaves a function.
 */
#ifndef NCZ_CODEC_H
#define NCZ_CODEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NCZ_API_VERSION ((uint32_t)0x00010001) /* major 1, minor 1 */

#if defined(_WIN32)
#define NCZ_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define NCZ_EXPORT __attribute__((visibility("default")))
#else
#define NCZ_EXPORT
#endif

/* "Not known" where a length is expected. */
#define NCZ_NO_LENGTH SIZE_MAX

/* Dialects of JSON: how codecs are written in metadata. */
#define NCZ_NUMCODECS ((uint32_t)2) /* Zarr v2 and NCZarr: {"id": "zstd", "level": 3} */
#define NCZ_ZARR_V3 ((uint32_t)3)   /* {"name": "zstd", "configuration": {"level": 3}} */

/* What functions return. */
enum {
    NCZ_OK = 0,
    NCZ_ERROR_TRUNCATED = 1,    /* the stream ends before it is complete */
    NCZ_ERROR_TRAILING = 2,     /* `first` bytes follow the end of the stream */
    NCZ_ERROR_SIZE = 3,         /* `second` bytes where `first` were expected */
    NCZ_ERROR_CHECKSUM = 4,     /* a stored checksum differs from the computed one */
    NCZ_ERROR_CORRUPT = 5,      /* the stream is damaged in another way */
    NCZ_ERROR_OUTPUT_FULL = 6,  /* the output is too small; if `second` is 1, `first` bytes would do */
    NCZ_ERROR_CONFIG = 7,       /* a key or parameter is wrong; the first `key_len` bytes of the text name it */
    NCZ_ERROR_UNSUPPORTED = 8,  /* this input, this container, this call, or no memory */
    NCZ_ERROR_PLUGIN = 9,       /* a library's own error code, in `first` as a signed number */
    NCZ_ERROR_PANICKED = 10,    /* a bug in the codec that was caught */
    NCZ_ERROR_VALUES = 11       /* such chunks are taken, but not these values, which would come back as others */
};

/* Details of an error. The caller sets `text` (may be null) and `text_capacity`; a function that fails sets the rest.
 * A text that does not fit is cut at the boundary of a character. The text is a lower-case fragment that names the
 * cause and does not repeat the meaning of the number. */
typedef struct ncz_error {
    uint64_t first;
    uint64_t second;
    char *text;
    size_t text_capacity;
    size_t text_len;
    size_t key_len;
} ncz_error;

/* Where a function writes text: each call appends. */
typedef struct ncz_sink {
    void *context;
    void (*write)(void *context, const char *data, size_t len);
} ncz_sink;

typedef struct ncz_config ncz_config;
typedef struct ncz_coder ncz_coder;
typedef struct ncz_scratch ncz_scratch;

typedef struct ncz_plugin {
    size_t size;          /* sizeof(ncz_plugin) */
    uint32_t api_version; /* NCZ_API_VERSION */
    uint32_t codec_count; /* codecs are numbered from 0 */

    /* Writes the names and properties of a codec:
     * {"name": "zstd", "summary": "one line", "filter_id": 32015, "numcodecs": ["zstd"], "zarr_v3": ["zstd"],
     *  "has_working_params": false, "has_checksum": false, "lossy": false}
     * `filter_id` is 1 to 65534, or null. In the lists of names, the first is written and all are read.
     * `has_working_params`: `bind` returns other parameter words than those that users give. */
    int32_t (*describe)(uint32_t codec, const ncz_sink *out, ncz_error *error);

    /* Makes a configuration from a JSON object without the codec's name. Remarks that are not errors go to `notes`, one
     * line each, ended by a line feed. */
    int32_t (*config_from_json)(uint32_t codec, uint32_t dialect, const char *json, size_t json_len,
                                const ncz_sink *notes, ncz_config **config, ncz_error *error);
    /* Makes a configuration from parameter words, as a user gives them or as HDF5 has stored them. */
    int32_t (*config_from_params)(uint32_t codec, const uint32_t *params, size_t count, ncz_config **config,
                                  ncz_error *error);
    /* Writes a configuration as a JSON object without the codec's name. */
    int32_t (*config_to_json)(const ncz_config *config, uint32_t dialect, const ncz_sink *out, ncz_error *error);
    /* Writes a configuration as a JSON array of parameter words, as a user gives them. */
    int32_t (*config_to_params)(const ncz_config *config, const ncz_sink *out, ncz_error *error);
    void (*config_free)(ncz_config *config);

    /* Binds a configuration to the codec's input.
     *
     * Request:  {"input": REPR, "env": {"dtype": DTYPE, "array_shape": [..], "chunk_shape": [..],
     *                                   "container": "hdf5" | "zarr_v2" | "nczarr_v2" | "zarr_v3"}}
     * Response: {"working": [parameter words for an HDF5 filter], "output": REPR,
     *            "lossy": true | false, of this configuration and input; may be absent: as `describe` says}
     * REPR:     {"array": {"dtype": DTYPE, "shape": [..], "fill": hexadecimal text or null}}
     *           | {"bytes": {"exact": n}} | {"bytes": {"at_most": n}} | {"bytes": {}}
     * DTYPE:    {"kind": "bool" | "int" | "uint" | "float" | "complex" | "opaque", "size": bytes,
     *            "order": "little" | "big"}
     *
     * `stored` is the configuration to write to metadata, e.g. with the element size filled in. Unknown keys are
     * ignored on both sides. */
    int32_t (*bind)(const ncz_config *config, const char *request, size_t request_len, const ncz_sink *response,
                    ncz_config **stored, ncz_coder **coder, ncz_error *error);
    /* Makes a coder from working parameter words only, as an HDF5 file has them. */
    int32_t (*coder_from_params)(uint32_t codec, const uint32_t *params, size_t count, ncz_coder **coder,
                                 ncz_error *error);
    void (*coder_free)(ncz_coder *coder);

    int32_t (*scratch_new)(const ncz_coder *coder, ncz_scratch **scratch, ncz_error *error);
    void (*scratch_free)(ncz_scratch *scratch);

    /* The largest number of bytes that `encode` can write for `len` bytes, or NCZ_NO_LENGTH if that overflows. */
    size_t (*max_encoded_len)(const ncz_coder *coder, size_t len);
    /* Encodes; `output_capacity` is at least `max_encoded_len(input_len)`. Data that do not shrink are not an error. */
    int32_t (*encode)(const ncz_coder *coder, ncz_scratch *scratch, const uint8_t *input, size_t input_len,
                      uint8_t *output, size_t output_capacity, size_t *written, ncz_error *error);
    /* Decodes the whole input; a truncated stream, bytes after its end and a result that does not fit are errors. */
    int32_t (*decode)(const ncz_coder *coder, ncz_scratch *scratch, const uint8_t *input, size_t input_len,
                      uint8_t *output, size_t output_capacity, size_t *written, ncz_error *error);
    /* The decoded length that the stream itself states, or NCZ_NO_LENGTH. */
    int32_t (*decoded_len)(const ncz_coder *coder, const uint8_t *input, size_t input_len, size_t *len,
                           ncz_error *error);

    /* Since 1.1. The version of the plugin: a semantic version such as "1.2.0" that lives as long as the library. If a
     * folder has two plugins with the same codec, ncz uses the newer. A null pointer, as function or as
     * result, states no version. */
    const char *(*version)(void);
} ncz_plugin;

NCZ_EXPORT const ncz_plugin *ncz_codec_plugin(void);

#ifdef __cplusplus
}
#endif

#endif
