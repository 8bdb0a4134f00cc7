/* The NCZarr codec (NCZ_codec_t of netcdf_filter_build.h). Included by ncz_plugin.h only. */
#ifndef NCZ_PLUGIN_NCZARR_H
#define NCZ_PLUGIN_NCZARR_H

typedef struct nczp_codec_record {
    int version, sort; /* NCZ_CODEC_CLASS_VER, NCZ_CODEC_HDF5 */
    const char *codec_id;
    unsigned hdf5_id;
    void (*initialize)(void);
    void (*finalize)(void);
    int (*codec_to_hdf5)(const char *json, size_t *count, unsigned **words);
    int (*hdf5_to_codec)(size_t count, const unsigned *words, char **json);
    int (*modify_parameters)(int ncid, int varid, size_t *visible_count, unsigned **visible, size_t *working_count,
                             unsigned **working);
} nczp_codec_record;

enum {
    /* Errors of netCDF. */
    NCZP_NC_EINVAL = -36,
    NCZP_NC_ENOMEM = -61,
    NCZP_NC_EFILTER = -132,
    NCZP_NC_CHUNKED = 0,
    NCZP_NC_ENDIAN_LITTLE = 1,
    NCZP_NC_ENDIAN_BIG = 2
};

static inline int nczp_nc_status(int32_t status) {
    return !status ? 0 : status == NCZ_ERROR_CONFIG ? NCZP_NC_EINVAL : NCZP_NC_EFILTER;
}

/* Prints what failed, and returns the error of netCDF. */
static inline int nczp_nc_failed(const ncz_codec *codec, const char *call, const nczp_failure *failure, void *caller) {
    nczp_log(codec, call, failure, caller);
    return nczp_nc_status(failure->status);
}

/* A text in memory from malloc, ended by a zero byte; `text` is null if there was no memory. */
typedef struct nczp_text {
    char *text;
    size_t len, capacity;
    bool has_failed;
} nczp_text;

static inline void nczp_text_write(void *context, const char *data, size_t len) {
    nczp_text *out = (nczp_text *)context;
    if (out->len + len >= out->capacity && !out->has_failed) {
        size_t capacity = (out->len + len + 1) * 2;
        char *larger = (char *)realloc(out->text, capacity);
        if (larger) out->text = larger, out->capacity = capacity;
        else out->has_failed = true;
    }
    if (out->has_failed) return;
    memcpy(out->text + out->len, data, len);
    out->len += len;
    out->text[out->len] = '\0';
}

/* The words of a codec in memory from malloc; null for a codec without keys. */
static inline bool nczp_copy_words(const ncz_codec *codec, const uint32_t *words, unsigned **copy) {
    size_t len = nczp_key_count(codec) * sizeof **copy;
    *copy = len ? (unsigned *)malloc(len) : NULL;
    if (*copy) memcpy(*copy, words, len);
    return *copy || !len;
}

static inline int nczp_codec_to_hdf5(const ncz_codec *codec, void *caller, const char *json, size_t *count,
                                     unsigned **words) {
    uint32_t made[NCZ_KEYS_MAX];
    nczp_failure failure;
    nczp_begin(&failure);
    if (!json || !count || !words) return NCZP_NC_EINVAL;
    nczp_span text = {json, json + strlen(json)};
    failure.status = nczp_of_json(codec, text, NCZ_NUMCODECS, true, NULL, made, &failure.error);
    if (failure.status) return nczp_nc_failed(codec, "NCZ_codec_to_hdf5", &failure, caller);
    unsigned *copy;
    if (!nczp_copy_words(codec, made, &copy)) return NCZP_NC_ENOMEM;
    *words = copy;
    *count = nczp_key_count(codec);
    return 0;
}

static inline int nczp_hdf5_to_codec(const ncz_codec *codec, void *caller, size_t count, const unsigned *given,
                                     char **json) {
    uint32_t words[NCZ_KEYS_MAX];
    nczp_failure failure;
    nczp_begin(&failure);
    nczp_text made = {NULL, 0, 0, false};
    ncz_sink sink = {&made, nczp_text_write};
    if (!json) return NCZP_NC_EINVAL;
    failure.status = nczp_of_words(codec, given, count, true, words, &failure.error);
    if (failure.status) return nczp_nc_failed(codec, "NCZ_hdf5_to_codec", &failure, caller);
    nczp_put_config(codec, words, codec->name, &sink);
    if (made.has_failed) {
        free(made.text);
        return NCZP_NC_ENOMEM;
    }
    *json = made.text;
    return 0;
}

/* The functions of libnetcdf that `modify_parameters` needs, since netCDF 4.0. */
typedef struct nczp_libnetcdf {
    int (*inq_var)(int ncid, int varid, char *name, int *type, int *rank, int *dims, int *attributes);
    int (*inq_type)(int ncid, int type, char *name, size_t *size);
    int (*inq_chunking)(int ncid, int varid, int *storage, size_t *lengths);
    int (*inq_endian)(int ncid, int varid, int *endian);
    int (*inq_dimlen)(int ncid, int dim, size_t *len);
} nczp_libnetcdf;

static inline bool nczp_find_libnetcdf(nczp_library library, nczp_libnetcdf *nc) {
    return nczp_find(library, "nc_inq_var", &nc->inq_var) && nczp_find(library, "nc_inq_type", &nc->inq_type) &&
           nczp_find(library, "nc_inq_var_chunking", &nc->inq_chunking) &&
           nczp_find(library, "nc_inq_var_endian", &nc->inq_endian) &&
           nczp_find(library, "nc_inq_dimlen", &nc->inq_dimlen);
}

/* The kind, size and byte order of a variable's elements. */
static inline int nczp_netcdf_element(const nczp_libnetcdf *nc, int ncid, int varid, int type, ncz_chunk *chunk) {
    /* from NC_BYTE, which is 1: byte, char, short, int, float, double, ubyte, ushort, uint, int64, uint64, string */
    static const char kinds[] = "iciiffuuuiuc";
    int status, endian = 0;
    char kind = type >= 1 && type <= 12 ? kinds[type - 1] : '\0';
    const uint16_t one = 1;
    chunk->kind = kind == 'i' ? NCZ_KIND_INT : kind == 'u' ? NCZ_KIND_UINT : NCZ_KIND_FLOAT;
    chunk->is_big_endian = false;
    if (!kind) return NCZP_NC_EFILTER;
    if (kind == 'c') { /* libnetcdf does not say the length of strings */
        chunk->kind = NCZ_KIND_OPAQUE;
        chunk->element_size = 1;
        return 0;
    }
    if ((status = nc->inq_type(ncid, type, NULL, &chunk->element_size))) return status;
    if ((status = nc->inq_endian(ncid, varid, &endian))) return status;
    chunk->is_big_endian = chunk->element_size > 1 && (endian == NCZP_NC_ENDIAN_BIG ||
                                                       (endian != NCZP_NC_ENDIAN_LITTLE && !*(const uint8_t *)&one));
    return 0;
}

/* The chunk of a variable; one that is not chunked is one chunk. */
static inline int nczp_netcdf_chunk(const nczp_libnetcdf *nc, int ncid, int varid, uint64_t *shape, ncz_chunk *chunk) {
    int status, type, rank, storage, dims[NCZP_RANK_MAX];
    size_t lengths[NCZP_RANK_MAX];
    if ((status = nc->inq_var(ncid, varid, NULL, &type, &rank, NULL, NULL))) return status;
    if (rank < 0 || rank > NCZP_RANK_MAX) return NCZP_NC_EFILTER;
    if ((status = nc->inq_var(ncid, varid, NULL, NULL, NULL, dims, NULL))) return status;
    if ((status = nc->inq_chunking(ncid, varid, &storage, lengths))) return status;
    for (int i = 0; i < rank; i++) {
        if (storage != NCZP_NC_CHUNKED && (status = nc->inq_dimlen(ncid, dims[i], &lengths[i]))) return status;
        shape[i] = lengths[i];
    }
    chunk->rank = (size_t)rank;
    chunk->shape = shape;
    return nczp_netcdf_element(nc, ncid, varid, type, chunk);
}

/* Computes the words for a variable. They replace the visible ones too, of which netcdf-c makes the JSON. */
static inline int nczp_modify_parameters(const ncz_codec *codec, void *caller, int ncid, int varid,
                                         size_t *visible_count, unsigned **visible, size_t *working_count,
                                         unsigned **working) {
    uint32_t words[NCZ_KEYS_MAX];
    uint64_t shape[NCZP_RANK_MAX];
    ncz_chunk chunk;
    nczp_libnetcdf nc;
    unsigned *new_visible, *new_working;
    nczp_failure failure;
    nczp_begin(&failure);
    if (!visible_count || !visible || !working_count || !working) return NCZP_NC_EINVAL;
    nczp_library library = nczp_open(caller);
    int status = NCZP_NC_EFILTER;
    if (nczp_find_libnetcdf(library, &nc)) status = nczp_netcdf_chunk(&nc, ncid, varid, shape, &chunk);
    nczp_close(library);
    if (status) {
        failure.status = ncz_fail(&failure.error, NCZ_ERROR_UNSUPPORTED, "libnetcdf does not describe the variable");
        nczp_log(codec, "NCZ_modify_parameters", &failure, caller);
        return status;
    }
    failure.status = nczp_of_words(codec, *visible, *visible_count, true, words, &failure.error);
    if (!failure.status) failure.status = nczp_localize(codec, &chunk, words, &failure.error);
    if (failure.status) return nczp_nc_failed(codec, "NCZ_modify_parameters", &failure, caller);
    if (!nczp_copy_words(codec, words, &new_visible)) return NCZP_NC_ENOMEM;
    if (!nczp_copy_words(codec, words, &new_working)) {
        free(new_visible);
        return NCZP_NC_ENOMEM;
    }
    free(*visible);
    free(*working);
    *visible = new_visible;
    *working = new_working;
    *visible_count = *working_count = nczp_key_count(codec);
    return 0;
}

#define NCZP_NCZARR(codec)                                                                                            \
    static int nczp_codec_to_hdf5_of_codec(const char *json, size_t *count, unsigned **words) {                       \
        return nczp_codec_to_hdf5(&(codec), __builtin_return_address(0), json, count, words);                         \
    }                                                                                                                 \
    static int nczp_hdf5_to_codec_of_codec(size_t count, const unsigned *words, char **json) {                        \
        return nczp_hdf5_to_codec(&(codec), __builtin_return_address(0), count, words, json);                         \
    }                                                                                                                 \
    static int nczp_modify_of_codec(int ncid, int varid, size_t *visible_count, unsigned **visible,                   \
                                    size_t *working_count, unsigned **working) {                                      \
        return nczp_modify_parameters(&(codec), __builtin_return_address(0), ncid, varid, visible_count, visible,     \
                                      working_count, working);                                                        \
    }                                                                                                                 \
    static nczp_codec_record nczp_codec_record_of_codec;                                                              \
    __attribute__((constructor)) static void nczp_fill_codec_record(void) {                                           \
        nczp_codec_record record = {1,                                                                                \
                                    1,                                                                                \
                                    (codec).name,                                                                     \
                                    (unsigned)(codec).filter_id,                                                      \
                                    NULL,                                                                             \
                                    NULL,                                                                             \
                                    nczp_codec_to_hdf5_of_codec,                                                      \
                                    nczp_hdf5_to_codec_of_codec,                                                      \
                                    NULL};                                                                            \
        if ((codec).set_local) record.modify_parameters = nczp_modify_of_codec;                                       \
        nczp_codec_record_of_codec = record;                                                                          \
    }                                                                                                                 \
    NCZP_EXPORT const void *NCZ_get_codec_info(void) { return &nczp_codec_record_of_codec; }                          \
    NCZP_EXPORT const void *NCZ_get_codec_info(void)

#endif
