/* Plugins that break one rule each, chosen by a macro; see bad.rs. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    int version, id;
    unsigned encodes, decodes;
    const char *name;
    void *can_apply, *set_local;
    size_t (*filter)(unsigned, size_t, const unsigned *, size_t, size_t *, void **);
} filter_record;

typedef struct {
    size_t size;
    uint32_t version, count;
    void *functions[15];
} native_table;

typedef struct {
    uint64_t first, second;
    char *text;
    size_t capacity, len, key_len;
} native_error;

extern int shared_state(void);
static int initialized;

#ifdef MARK
/* Runs when the library is opened. */
__attribute__((constructor)) static void mark(void) { close(open(MARK, O_CREAT | O_WRONLY, 0600)); }
#endif

#ifdef ANSWER
/* A name that another library has too. */
int answer(void) { return ANSWER; }
#endif

static size_t filter(unsigned flags, size_t count, const unsigned *params, size_t len, size_t *size, void **buf)
{
    (void)flags, (void)count, (void)params, (void)size, (void)buf;
#ifdef USES_SHARED
    if (!shared_state())
        return 0;
#endif
#ifdef INITIALIZES
    if (initialized != 1)
        return 0;
#endif
#ifdef ANSWER
    **(char **)buf = (char)answer();
#endif
    return len;
}

#if defined(NOTHING)
int nothing(void) { return filter(0, 0, NULL, 0, NULL, NULL) + initialized; }
#elif defined(DATA)
int H5PLget_plugin_type = 0;
filter_record H5PLget_plugin_info = {1, 40300, 1, 1, "data", 0, 0, filter};
#elif defined(NATIVE)
static int32_t describe(uint32_t codec, void *out, native_error *error)
{
    (void)codec, (void)out;
    error->text = NULL;
    error->len = error->key_len = SIZE_MAX;
    return -77;
}

const void *ncz_codec_plugin(void)
{
    static native_table table = {sizeof table, 0x10000, NATIVE, {0}};
    for (int i = 0; i < 15; i++)
        table.functions[i] = (void *)describe;
    return &table;
}
#elif defined(HEADER)
char _1as_0lib_1header_0root_bmodule_bloader[256] = "no header\nof abi_stable";
#elif defined(SHARED)
/* Stands for a libhdf5 that is not thread-safe. */
int H5open(void) { return 0; }

int shared_state(void)
{
    static volatile int inside;
    int alone = !inside;
    inside = 1;
    usleep(2000);
    inside = 0;
    return alone;
}
#elif defined(DEPENDENCY)
int H5PLget_plugin_type(void) { return 0; }
int NCZ_get_codec_info(void) { return 0; }
#elif defined(NEEDS)
const void *NCZ_codec_info_defaults(void)
{
    static const void *none;
    return &none;
}
#else
int H5PLget_plugin_type(void)
{
#ifdef OTHER_TYPE
    return 1;
#else
    return 0;
#endif
}

const void *H5PLget_plugin_info(void)
{
    static filter_record record = {1, 40300, 1, 1, "good", 0, 0, filter};
#ifdef OTHER_TYPE
    abort();
#endif
#ifdef ENDLESS
    /* A name at the end of what may be read. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + page, page, PROT_NONE);
    memset(pages, 'x', page);
    record.name = pages + page - 1100;
#endif
#ifdef CONTROL
    record.name = "red \x1b[31m\n";
#endif
#ifdef VERSION
    record.version = VERSION;
#endif
#ifdef ODD_ADDRESS
    static char place[sizeof record + 1];
    return memcpy(place + 1, &record, sizeof record);
#endif
    return &record;
}

#ifdef INITIALIZES
typedef struct {
    int version, sort;
    const char *name;
    unsigned id;
    void (*initialize)(void);
    void *finalize, *functions[3];
} codec_record;

static void initialize(void) { initialized++; }

const void *NCZ_get_codec_info(void)
{
    static codec_record record = {1, 1, "good", 40300, initialize, 0, {0}};
    record.functions[0] = record.functions[1] = (void *)initialize;
    return &record;
}
#endif
#endif
