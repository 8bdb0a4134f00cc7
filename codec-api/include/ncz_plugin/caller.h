/* The library that calls: its functions and its allocator. Included by ncz_plugin.h only.
 *
 * A process can hold several libhdf5 and libnetcdf (h5py and netCDF4-python bring their own), and handles and memory of
 * one are not valid in another. A plugin links none of them. The address where a call returns to says which of them
 * called. */
#ifndef NCZ_PLUGIN_CALLER_H
#define NCZ_PLUGIN_CALLER_H

typedef struct nczp_library {
    void *handle; /* of dlopen; null: not found */
    void *base;
} nczp_library;

/* Opens the library that has the code at an address, or the program. */
static inline nczp_library nczp_open(void *code) {
    nczp_library found = {NULL, NULL};
    Dl_info info;
    if (!dladdr(code, &info) || !info.dli_fname) return found;
    found.base = info.dli_fbase;
    found.handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!found.handle) found.handle = dlopen(NULL, RTLD_LAZY); /* the program itself is not found by its name */
    return found;
}

/* Puts a function of the library itself into `*function`, which is a pointer to one. */
static inline bool nczp_find(nczp_library library, const char *name, void *function) {
    Dl_info info;
    void *found = library.handle ? dlsym(library.handle, name) : NULL;
    /* dlsym looks into the libraries that a library needs, too */
    if (!found || !dladdr(found, &info) || info.dli_fbase != library.base) return false;
    memcpy(function, &found, sizeof found);
    return true;
}

static inline void nczp_close(nczp_library library) {
    if (library.handle) dlclose(library.handle);
}

typedef struct nczp_allocator {
    void *(*allocate)(size_t len, int clear);
    void *(*resize)(void *block, size_t len);
    int (*release)(void *block);
} nczp_allocator;

static inline void *nczp_libc_allocate(size_t len, int clear) { return clear ? calloc(1, len) : malloc(len); }

static inline int nczp_libc_release(void *block) {
    free(block);
    return 0;
}

/* The allocator of the library with the code at an address: that of libhdf5 if it is one, else malloc (netcdf-c). Each
 * thread keeps one for each `direction`, 0 or 1, and the library of a kept one stays loaded. */
static inline nczp_allocator nczp_allocator_of(void *code, int direction) {
    static __thread struct {
        void *code;
        nczp_allocator allocator;
    } kept[2];
    if (kept[direction].code == code && code) return kept[direction].allocator;
    nczp_allocator libc = {nczp_libc_allocate, realloc, nczp_libc_release}, found = libc;
    nczp_library library = nczp_open(code);
    bool is_libhdf5 = nczp_find(library, "H5allocate_memory", &found.allocate) &&
                      nczp_find(library, "H5resize_memory", &found.resize) &&
                      nczp_find(library, "H5free_memory", &found.release);
    if (!library.handle) return libc;
    kept[direction].code = code;
    kept[direction].allocator = is_libhdf5 ? found : libc;
    return kept[direction].allocator;
}

#endif
