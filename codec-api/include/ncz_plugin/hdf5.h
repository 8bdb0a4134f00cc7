/* The HDF5 filter (H5Z_class2_t of H5Zpublic.h or H5Zdevelop.h). Included by ncz_plugin.h only. */
#ifndef NCZ_PLUGIN_HDF5_H
#define NCZ_PLUGIN_HDF5_H

typedef struct nczp_filter_record {
    int version; /* H5Z_CLASS_T_VERS */
    int id;
    unsigned encoder_present, decoder_present;
    const char *name;
    int (*can_apply)(int64_t dcpl, int64_t type, int64_t space);
    int (*set_local)(int64_t dcpl, int64_t type, int64_t space);
    size_t (*filter)(unsigned flags, size_t count, const unsigned *words, size_t nbytes, size_t *buf_size, void **buf);
} nczp_filter_record;

enum {
    NCZP_FLAG_REVERSE = 0x100,
    /* Classes of types, H5T_class_t. */
    NCZP_INTEGER = 0,
    NCZP_FLOAT = 1,
    NCZP_BITFIELD = 4,
    NCZP_ENUM = 8,
    NCZP_ARRAY = 10,
    NCZP_COMPLEX = 11,
    NCZP_HDF5_RANK_MAX = 32
};

/* A chunk that decodes to more bytes is refused. */
#define NCZP_DECODED_MAX ((size_t)((uint64_t)4 << 30 > SIZE_MAX ? SIZE_MAX / 2 : (uint64_t)4 << 30))

/* Encodes or decodes a chunk; 0 is failure, and then `*buf` is as it was. */
static inline size_t nczp_filter_chunk(const ncz_codec *codec, void *caller, unsigned flags, size_t count,
                                       const unsigned *given, size_t nbytes, size_t *buf_size, void **buf,
                                       nczp_failure *failure) {
    uint32_t words[NCZ_KEYS_MAX];
    ncz_error *error = &failure->error;
    bool decodes = flags & NCZP_FLAG_REVERSE;
    size_t stated = NCZ_NO_LENGTH, capacity, len = 0;
    if (!buf || !buf_size || !*buf || !nbytes || nbytes > PTRDIFF_MAX) return 0;
    if ((failure->status = nczp_of_words(codec, given, count, false, words, error))) return 0;
    ncz_call call = {words, NULL, (const uint8_t *)*buf, nbytes, NULL, 0, 0, error};
    if (decodes && (failure->status = nczp_stated(codec, call, &stated))) return 0;
    if (!decodes) capacity = nczp_most(codec, words, nbytes);
    else if (stated != NCZ_NO_LENGTH) capacity = stated;
    else capacity = nbytes < NCZP_DECODED_MAX / 4 ? nbytes * 4 : NCZP_DECODED_MAX;
    failure->status = ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "a chunk of this length");
    if (!capacity || capacity == NCZ_NO_LENGTH || (decodes && capacity > NCZP_DECODED_MAX)) return 0;
    failure->status = nczp_no_memory(error);
    if (codec->scratch_new && !(call.scratch = codec->scratch_new(words))) return 0;

    nczp_allocator memory = nczp_allocator_of(caller, decodes);
    uint8_t *block;
    while ((block = (uint8_t *)memory.allocate(capacity, 0))) {
        call.output = block;
        call.output_capacity = capacity;
        int32_t status = failure->status = nczp_run(codec, decodes, call, &len);
        if (!status && len) break;
        memory.release(block);
        block = NULL;
        bool is_guess = decodes && stated == NCZ_NO_LENGTH && capacity < NCZP_DECODED_MAX;
        if (status != NCZ_ERROR_OUTPUT_FULL || !is_guess) break;
        capacity = error->second == 1 && error->first > capacity ? (size_t)error->first : capacity * 2;
        if (capacity > NCZP_DECODED_MAX) capacity = NCZP_DECODED_MAX;
    }
    if (call.scratch) codec->scratch_free(call.scratch);
    if (!block) return 0;
    if (capacity - len > len / 8) {
        void *smaller = memory.resize(block, len);
        if (smaller) block = (uint8_t *)smaller, capacity = len;
    }
    memory.release(*buf);
    *buf = block;
    *buf_size = capacity;
    return len;
}

/* The filter function. */
static inline size_t nczp_filter(const ncz_codec *codec, void *caller, unsigned flags, size_t count,
                                 const unsigned *given, size_t nbytes, size_t *buf_size, void **buf) {
    nczp_failure failure;
    nczp_begin(&failure);
    size_t len = nczp_filter_chunk(codec, caller, flags, count, given, nbytes, buf_size, buf, &failure);
    if (!len) nczp_log(codec, flags & NCZP_FLAG_REVERSE ? "decode" : "encode", &failure, caller);
    return len;
}

/* The functions of libhdf5 that `set_local` needs, since HDF5 1.10, which is the first with 64 bits in a handle. */
typedef struct nczp_libhdf5 {
    int (*version)(unsigned *major, unsigned *minor, unsigned *release);
    int (*get_filter)(int64_t dcpl, int id, unsigned *flags, size_t *count, unsigned *words, size_t name_len,
                      char *name, unsigned *config);
    int (*modify_filter)(int64_t dcpl, int id, unsigned flags, size_t count, const unsigned *words);
    int (*get_chunk)(int64_t dcpl, int rank, uint64_t *shape);
    int (*get_class)(int64_t type);
    size_t (*get_size)(int64_t type);
    size_t (*get_precision)(int64_t type);
    int (*get_order)(int64_t type);
    int (*get_sign)(int64_t type);
    int (*get_fields)(int64_t type, size_t *sign, size_t *exponent, size_t *exponent_size, size_t *mantissa,
                      size_t *mantissa_size);
    int64_t (*get_super)(int64_t type);
    int (*close_type)(int64_t type);
} nczp_libhdf5;

static inline bool nczp_find_libhdf5(nczp_library library, nczp_libhdf5 *h5) {
    unsigned major, minor, release;
    return nczp_find(library, "H5get_libversion", &h5->version) && h5->version(&major, &minor, &release) >= 0 &&
           (major > 1 || (major == 1 && minor >= 10)) && nczp_find(library, "H5Pget_filter_by_id2", &h5->get_filter) &&
           nczp_find(library, "H5Pmodify_filter", &h5->modify_filter) &&
           nczp_find(library, "H5Pget_chunk", &h5->get_chunk) && nczp_find(library, "H5Tget_class", &h5->get_class) &&
           nczp_find(library, "H5Tget_size", &h5->get_size) &&
           nczp_find(library, "H5Tget_precision", &h5->get_precision) &&
           nczp_find(library, "H5Tget_order", &h5->get_order) && nczp_find(library, "H5Tget_sign", &h5->get_sign) &&
           nczp_find(library, "H5Tget_fields", &h5->get_fields) &&
           nczp_find(library, "H5Tget_super", &h5->get_super) && nczp_find(library, "H5Tclose", &h5->close_type);
}

/* Whether all bits of an element are used. */
static inline bool nczp_is_full(const nczp_libhdf5 *h5, int64_t type, size_t size) {
    return size <= SIZE_MAX / 8 && h5->get_precision(type) == size * 8;
}

static inline ncz_kind nczp_integer_kind(const nczp_libhdf5 *h5, int64_t type, size_t size) {
    if (!nczp_is_full(h5, type, size)) return NCZ_KIND_OPAQUE;
    return h5->get_sign(type) ? NCZ_KIND_INT : NCZ_KIND_UINT; /* H5T_SGN_NONE is 0 */
}

/* Whether a type of floating-point numbers is one of IEEE 754: the width of the exponent distinguishes them. */
static inline bool nczp_is_ieee(const nczp_libhdf5 *h5, int64_t type, size_t size) {
    size_t field[5] = {0, 0, 0, 0, 0};
    if (h5->get_fields(type, &field[0], &field[1], &field[2], &field[3], &field[4]) < 0) return false;
    return nczp_is_full(h5, type, size) && ((size == 2 && field[2] == 5) || (size == 4 && field[2] == 8) ||
                                            (size == 8 && field[2] == 11) || (size == 16 && field[2] == 15));
}

/* The kind, size and byte order of an element. */
static inline bool nczp_element(const nczp_libhdf5 *h5, int64_t type, ncz_chunk *chunk) {
    int class_of = h5->get_class(type), order;
    size_t size = h5->get_size(type);
    int64_t base = type;
    if (class_of < 0 || !size) return false;
    if ((class_of == NCZP_ENUM || class_of == NCZP_COMPLEX) && (base = h5->get_super(type)) < 0) return false;
    chunk->element_size = size;
    chunk->is_big_endian = false;
    chunk->kind = NCZ_KIND_OPAQUE;
    if (class_of == NCZP_INTEGER || class_of == NCZP_ENUM) chunk->kind = nczp_integer_kind(h5, base, size);
    else if (class_of == NCZP_BITFIELD && nczp_is_full(h5, type, size)) chunk->kind = NCZ_KIND_UINT;
    else if (class_of == NCZP_FLOAT && nczp_is_ieee(h5, type, size)) chunk->kind = NCZ_KIND_FLOAT;
    else if (class_of == NCZP_COMPLEX && nczp_is_ieee(h5, base, size / 2)) chunk->kind = NCZ_KIND_COMPLEX;
    if (base != type) h5->close_type(base);
    if (chunk->kind == NCZ_KIND_OPAQUE || size == 1) return true;
    order = h5->get_order(type);
    if (order == 1) chunk->is_big_endian = true; /* H5T_ORDER_BE */
    else if (order) chunk->kind = NCZ_KIND_OPAQUE;
    return true;
}

/* The chunk of a dataset that is made. One level of an array type is a dimension, as in registered filters. */
static inline bool nczp_hdf5_chunk(const nczp_libhdf5 *h5, int64_t dcpl, int64_t type, uint64_t *shape,
                                   ncz_chunk *chunk) {
    int rank = h5->get_chunk(dcpl, NCZP_HDF5_RANK_MAX, shape);
    if (rank < 0 || rank > NCZP_HDF5_RANK_MAX) return false;
    chunk->rank = (size_t)rank;
    chunk->shape = shape;
    if (h5->get_class(type) != NCZP_ARRAY) return nczp_element(h5, type, chunk);
    size_t whole = h5->get_size(type);
    int64_t base = h5->get_super(type);
    bool is_found = base >= 0 && nczp_element(h5, base, chunk) && whole % chunk->element_size == 0;
    if (base >= 0) h5->close_type(base);
    if (is_found) shape[chunk->rank++] = whole / chunk->element_size;
    return is_found;
}

static inline bool nczp_set_local_with(const ncz_codec *codec, const nczp_libhdf5 *h5, int64_t dcpl, int64_t type,
                                       nczp_failure *failure) {
    unsigned flags = 0, given[NCZ_KEYS_MAX];
    uint32_t words[NCZ_KEYS_MAX];
    uint64_t shape[NCZP_HDF5_RANK_MAX + 1];
    size_t count = NCZ_KEYS_MAX;
    ncz_chunk chunk;
    ncz_error *error = &failure->error;
    failure->status = ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "libhdf5 does not describe the dataset");
    return h5->get_filter(dcpl, codec->filter_id, &flags, &count, given, 0, NULL, NULL) >= 0 &&
           nczp_hdf5_chunk(h5, dcpl, type, shape, &chunk) &&
           !(failure->status = nczp_of_words(codec, given, count, true, words, error)) &&
           !(failure->status = nczp_localize(codec, &chunk, words, error)) &&
           h5->modify_filter(dcpl, codec->filter_id, flags, nczp_key_count(codec), words) >= 0;
}

/* The filter's `set_local`: puts the words for a dataset into its creation properties. */
static inline int nczp_set_local(const ncz_codec *codec, void *caller, int64_t dcpl, int64_t type) {
    nczp_libhdf5 h5;
    nczp_failure failure;
    nczp_begin(&failure);
    failure.status = ncz_fail(&failure.error, NCZ_ERROR_UNSUPPORTED, "the caller is no libhdf5 of 1.10 or later");
    nczp_library library = nczp_open(caller);
    bool is_done = nczp_find_libhdf5(library, &h5) && nczp_set_local_with(codec, &h5, dcpl, type, &failure);
    nczp_close(library);
    if (!is_done) nczp_log(codec, "set_local", &failure, caller);
    return is_done ? 0 : -1;
}

/* The record has values of the codec, so it is filled when the library is loaded. */
#define NCZP_HDF5(codec)                                                                                              \
    static size_t nczp_filter_of_codec(unsigned flags, size_t count, const unsigned *words, size_t nbytes,            \
                                       size_t *buf_size, void **buf) {                                                \
        return nczp_filter(&(codec), __builtin_return_address(0), flags, count, words, nbytes, buf_size, buf);        \
    }                                                                                                                 \
    static int nczp_set_local_of_codec(int64_t dcpl, int64_t type, int64_t space) {                                   \
        (void)space;                                                                                                  \
        return nczp_set_local(&(codec), __builtin_return_address(0), dcpl, type);                                     \
    }                                                                                                                 \
    static nczp_filter_record nczp_filter_record_of_codec;                                                            \
    __attribute__((constructor)) static void nczp_fill_filter_record(void) {                                          \
        nczp_filter_record record = {1, (codec).filter_id, 1, 1, (codec).name, NULL, NULL, nczp_filter_of_codec};     \
        if ((codec).set_local) record.set_local = nczp_set_local_of_codec;                                            \
        nczp_filter_record_of_codec = record;                                                                         \
    }                                                                                                                 \
    NCZP_EXPORT int H5PLget_plugin_type(void) { return 0; /* H5PL_TYPE_FILTER */ }                                    \
    NCZP_EXPORT const void *H5PLget_plugin_info(void) { return &nczp_filter_record_of_codec; }                        \
    NCZP_EXPORT const void *H5PLget_plugin_info(void)

#endif
