/*
 * A codec plugin in C, for HDF5, netcdf-c and ncz, from the functions that encode and decode.
 *
 *     #include "ncz_plugin.h"                                   // before other headers
 *
 *     static size_t max_encoded_len(const uint32_t *words, size_t len) { .. }
 *     static int32_t encode(ncz_call *call) { .. }
 *     static int32_t decode(ncz_call *call) { .. }
 *
 *     static const ncz_codec my_codec = {
 *         .name = "my-codec", .summary = "what it does", .version = "1.0.0", .filter_id = 32802,
 *         .keys = {{"level", 1, 9, 5}},                         // {"level": 5}, and the first parameter word
 *         .max_encoded_len = max_encoded_len, .encode = encode, .decode = decode,
 *     };
 *     NCZ_PLUGIN(my_codec);
 *
 *     cc -shared -fPIC -O2 -fvisibility=hidden -I <ncz>/codec-api/include -o libmy_codec.so my_codec.c
 *
 * Everything else is here: JSON, parameter words, the HDF5 filter and the NCZarr codec with the allocator and the
 * functions of the library that calls, the native table. A codec with parameters other than integers, or that needs
 * more of its input than `ncz_chunk` has, uses the interface `ncz_codec.h` itself.
 *
 * The last line is one of these, once in a library:
 *
 *     NCZ_PLUGIN(a);              // HDF5, netcdf-c and ncz: all faces
 *     NCZ_PLUGIN_HDF5(a);         // HDF5: a filter without a numcodecs id, or whose NCZarr codec is in another library
 *     NCZ_PLUGIN_NCZARR(a);       // netcdf-c: the NCZarr codec of a filter that is in another library
 *     NCZ_PLUGIN_NATIVE(&a, &b);  // ncz only: codecs without an HDF5 id, any number of them
 *
 * Threads: the functions of a codec are called from any thread, by several at a time, so they may write only to what
 * they are given. A scratch serves one call at a time, and can go from thread to thread. (libhdf5 lets one thread in at
 * a time; ncz does not, and netcdf-c leaves it to the program.) The functions of this header share nothing between
 * threads.
 *
 * C99 with the extensions of gcc and clang, or C++20; Linux, macOS and BSD, for <dlfcn.h>. It does not work on Windows,
 * where ncz does not run.
 */
#ifndef NCZ_PLUGIN_H
#define NCZ_PLUGIN_H

#if defined(_WIN32) || !defined(__GNUC__)
#error "ncz_plugin.h needs dladdr and gcc or clang; elsewhere use the interface ncz_codec.h itself"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif

#include "ncz_codec.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#if defined(__GLIBC__) && !defined(__USE_GNU)
#error "include ncz_plugin.h before the headers of the system"
#endif

/* A codec has at most this many keys. */
#define NCZ_KEYS_MAX 16

/* A key of the configuration: an integer in JSON, and the parameter word with the same index.
 *
 * `if_absent` holds if neither JSON nor words give the key. If it is not within `least` to `greatest`, then it is
 * accepted as well, and means that the value depends on the chunk: `set_local` must set the word. */
typedef struct ncz_key {
    const char *name; /* ASCII */
    /* Within -2147483648 to 2147483647, or 0 to 4294967295. Words of negative numbers are in two's complement. */
    int64_t least, greatest, if_absent;
} ncz_key;

/* What the elements of a chunk are. NCZ_KIND_OPAQUE is everything that is not a number of a usual format. */
typedef enum ncz_kind {
    NCZ_KIND_OPAQUE,
    NCZ_KIND_BOOL,
    NCZ_KIND_INT,
    NCZ_KIND_UINT,
    NCZ_KIND_FLOAT,
    NCZ_KIND_COMPLEX
} ncz_kind;

/* The chunk that a codec is for. After codecs that made bytes of it, still the chunk. */
typedef struct ncz_chunk {
    ncz_kind kind;
    bool is_big_endian;
    size_t element_size; /* bytes, at least 1 */
    size_t rank;
    const uint64_t *shape; /* the lengths of the chunk, slowest first */
} ncz_chunk;

/* A call of `encode`, `decode` or `decoded_len`. */
typedef struct ncz_call {
    const uint32_t *words; /* one for each key, within its limits */
    void *scratch;         /* from `scratch_new` */
    const uint8_t *input;  /* not null */
    size_t input_len;
    uint8_t *output; /* not null; for `decoded_len` of no use */
    size_t output_capacity;
    size_t output_len; /* to be set: how many bytes were written, or are to be expected */
    ncz_error *error;  /* for `ncz_fail` */
} ncz_call;

/* Whether decoding can return other values than were encoded. NCZ_LOSSLESS promises every bit. */
typedef enum ncz_loss { NCZ_LOSS_UNKNOWN, NCZ_LOSSLESS, NCZ_LOSSY } ncz_loss;

/* A codec. Its functions return NCZ_OK or what `ncz_fail` returns. */
typedef struct ncz_codec {
    const char *name;    /* of the HDF5 filter, and the numcodecs id: ASCII */
    const char *zarr_v3; /* the name in Zarr version 3, such as "example.my-codec"; null: it has none */
    const char *summary; /* one line */
    const char *version; /* semantic, such as "1.2.0"; null: not stated */
    int filter_id;       /* 1 to 65534; 32768 on are for tests, The HDF Group registers others. Native only: 0 */
    ncz_loss loss;
    bool has_checksum;
    bool has_fixed_len; /* what `encode` writes always has the length `max_encoded_len` */
    ncz_key keys[NCZ_KEYS_MAX];

    /* Computes words from the chunk; what it leaves there is stored with the data and given to the other functions. May
     * be null. */
    int32_t (*set_local)(const ncz_chunk *chunk, uint32_t *words, ncz_error *error);
    /* The largest number of bytes that `encode` can write for `len`, which is at most PTRDIFF_MAX. NCZ_NO_LENGTH and
     * what is greater than PTRDIFF_MAX refuse the chunk. */
    size_t (*max_encoded_len)(const uint32_t *words, size_t len);
    /* Encodes; the capacity is at least `max_encoded_len`. Data that do not shrink are not an error. */
    int32_t (*encode)(ncz_call *call);
    /* Decodes the whole input, which is not trusted. A truncated stream, bytes after its end, and a result that does
     * not fit (NCZ_ERROR_OUTPUT_FULL) are errors. `decoded_len` was called before, if there is one; if it knows the
     * length, the capacity is that length, and another result is an error. */
    int32_t (*decode)(ncz_call *call);
    /* Sets `output_len` to the decoded length that the stream itself states, or to NCZ_NO_LENGTH. May be null; but HDF5
     * does not compare lengths, so only a format that states them can tell a stream that was cut. */
    int32_t (*decoded_len)(ncz_call *call);
    /* What a thread reuses from call to call, such as a library's context; null if there is no memory. Both or neither
     * may be null. In HDF5 and netcdf-c each call has its own. */
    void *(*scratch_new)(const uint32_t *words);
    void (*scratch_free)(void *scratch);
} ncz_codec;

/* The rest is for the macros, but for `ncz_fail` and `ncz_fail_with` in error.h. */

#ifdef __cplusplus
#define NCZP_EXPORT extern "C" NCZ_EXPORT
#else
#define NCZP_EXPORT NCZ_EXPORT
#endif

/* Chunks of more dimensions are refused: the limit of netCDF. */
enum { NCZP_RANK_MAX = 1024 };

#include "ncz_plugin/error.h"
#include "ncz_plugin/json.h"
/* needs both */
#include "ncz_plugin/caller.h"
#include "ncz_plugin/config.h"
#include "ncz_plugin/log.h"
#include "ncz_plugin/run.h"
/* need all */
#include "ncz_plugin/hdf5.h"
#include "ncz_plugin/native.h"
#include "ncz_plugin/nczarr.h"

#define NCZ_PLUGIN(codec) \
    NCZP_NATIVE(&codec);  \
    NCZP_HDF5(codec);     \
    NCZP_NCZARR(codec)
#define NCZ_PLUGIN_HDF5(codec) NCZP_HDF5(codec)
#define NCZ_PLUGIN_NCZARR(codec) NCZP_NCZARR(codec)
#define NCZ_PLUGIN_NATIVE(...) NCZP_NATIVE(__VA_ARGS__)

#endif
