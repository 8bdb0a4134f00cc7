/* A filter that leaves the functions of libhdf5 to whoever loads it. Its working parameters say what it was told of the
   type and the space, and its first parameter. */
#include <stddef.h>
#include <stdint.h>

typedef int64_t hid_t;

typedef struct {
    int version, id;
    unsigned encodes, decodes;
    const char *name;
    int (*can_apply)(hid_t, hid_t, hid_t);
    int (*set_local)(hid_t, hid_t, hid_t);
    size_t (*filter)(unsigned, size_t, const unsigned *, size_t, size_t *, void **);
} record;

size_t H5Tget_size(hid_t);
int H5Tget_order(hid_t);
int H5Sget_simple_extent_ndims(hid_t);
int H5Pget_filter_by_id2(hid_t, int, unsigned *, size_t *, unsigned *, size_t, char *, unsigned *);
int H5Pmodify_filter(hid_t, int, unsigned, size_t, const unsigned *);

enum { ID = 40500 };

static int set_local(hid_t dcpl, hid_t type, hid_t space)
{
    unsigned flags, words[4] = {0, 0, 0, 0}, given[1] = {0};
    size_t count = 1;
    if (H5Pget_filter_by_id2(dcpl, ID, &flags, &count, given, 0, NULL, NULL) < 0) return -1;
    words[0] = (unsigned)H5Tget_size(type);
    words[1] = (unsigned)H5Tget_order(type);
    words[2] = (unsigned)H5Sget_simple_extent_ndims(space);
    words[3] = given[0];
    return H5Pmodify_filter(dcpl, ID, flags, 4, words);
}

static size_t filter(unsigned flags, size_t count, const unsigned *words, size_t size, size_t *room, void **block)
{
    (void)flags, (void)count, (void)words, (void)room, (void)block;
    return size;
}

static const record RECORD = {1, ID, 1, 1, "asks", NULL, set_local, filter};

int H5PLget_plugin_type(void)
{
    return 0;
}

const void *H5PLget_plugin_info(void)
{
    return &RECORD;
}
