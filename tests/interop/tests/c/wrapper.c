/* A filter plugin that calls the one in OURS. With LESS=1 it states one byte less in *buf_size than it returns. */
#include <dlfcn.h>
#include <stdio.h>

typedef size_t (*filter_fn)(unsigned, size_t, const unsigned *, size_t, size_t *, void **);
struct filter_class { int version, id; unsigned encodes, decodes; const char *name; void *can_apply, *set_local; filter_fn filter; };

static struct filter_class record;
static filter_fn ours;

static size_t wrapped(unsigned flags, size_t count, const unsigned *words, size_t nbytes, size_t *buf_size, void **buf)
{
    size_t result = ours(flags, count, words, nbytes, buf_size, buf);
    fprintf(stderr, "wrapper called\n");
    if (LESS && result)
        *buf_size = result - 1;
    return result;
}

int H5PLget_plugin_type(void) { return 0; }

const void *H5PLget_plugin_info(void)
{
    if (!ours) {
        void *library = dlopen(OURS, RTLD_NOW | RTLD_LOCAL);
        const struct filter_class *(*info)(void) =
            library ? (const struct filter_class *(*)(void))dlsym(library, "H5PLget_plugin_info") : NULL;
        if (!info)
            return NULL;
        record = *info();
        ours = record.filter;
        record.filter = wrapped;
    }
    return &record;
}
