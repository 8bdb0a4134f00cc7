/*
 * Calls HDF5 filters as libhdf5 does, and watches what they do with its memory.
 *
 *     cc -shared -fPIC -DTAG=1 caller.c -o libone.so      exports H5allocate_memory and its two siblings
 *     cc -shared -fPIC -DTAG=0 caller.c -o libplain.so    uses malloc, and exports nothing of HDF5
 *
 * With a tag every block starts with a header (who made it, how large) and ends with bytes that nobody may write.
 * A block that reaches another library's free, or that was not made by the caller, ends the program.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef size_t (*filter_fn)(unsigned, size_t, const unsigned *, size_t, size_t *, void **);
struct filter_class { int version, id; unsigned encodes, decodes; const char *name; void *can_apply, *set_local; filter_fn filter; };

enum { ROUND_TRIP = 0, MUST_GIVE = 1, MUST_FAIL = 2 };
struct job { uint32_t kind, flags, nwords; uint64_t nbytes, spare, nwanted; unsigned *words; unsigned char *bytes, *wanted; };

static atomic_long live, replaced;
static const unsigned REVERSE = 0x100;

static void fault(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "fault: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    _exit(3);
}

#if TAG
enum { CANARY = 48 };
struct header { uint64_t magic, tag, size, unused; };
static const uint64_t MAGIC = 0x6b636f6c62326163u;

static struct header *header_of(void *block)
{
    struct header *header = (struct header *)block - 1;
    if (header->magic != MAGIC || header->tag != TAG)
        fault("library %d is given a block that it has not made", TAG);
    for (int i = 0; i < CANARY; i++)
        if (((unsigned char *)block)[header->size + i] != 0xa5)
            fault("byte %d behind a block of %zu is overwritten", i, (size_t)header->size);
    return header;
}

void *H5allocate_memory(size_t size, int clear)
{
    struct header *header = malloc(sizeof *header + size + CANARY);
    if (!header)
        return NULL;
    *header = (struct header){MAGIC, TAG, size, 0};
    memset(header + 1, clear ? 0 : 0x5a, size);
    memset((char *)(header + 1) + size, 0xa5, CANARY);
    live++;
    return header + 1;
}

void H5free_memory(void *block)
{
    if (!block)
        return;
    struct header *header = header_of(block);
    header->magic = 0;
    free(header);
    live--;
}

void *H5resize_memory(void *block, size_t size)
{
    struct header *old = header_of(block);
    void *new = H5allocate_memory(size, 0);
    if (new) {
        memcpy(new, block, size < old->size ? size : old->size);
        H5free_memory(block);
    }
    return new;
}

static size_t size_of(void *block) { return header_of(block)->size; }
#else
static void *H5allocate_memory(size_t size, int clear) { (void)clear; live++; return malloc(size); }
static void H5free_memory(void *block) { live--; free(block); }
static size_t size_of(void *block) { return malloc_usable_size(block); }
#endif

/* How many blocks of this library are not freed yet. */
long blocks_alive(void) { return live; }
/* How often a filter put another block in place of the one it was given. */
long blocks_replaced(void) { return replaced; }

struct chunk { void *block; size_t size, len; };

static struct chunk new_chunk(const unsigned char *bytes, size_t len, size_t spare)
{
    struct chunk chunk = {H5allocate_memory(len + spare, 0), len + spare, len};
    memcpy(chunk.block, bytes, len);
    return chunk;
}

static size_t call(filter_fn filter, unsigned flags, const struct job *job, struct chunk *chunk)
{
    void *before = chunk->block;
    size_t result = filter(flags, job->nwords, job->words, chunk->len, &chunk->size, &chunk->block);
    if (chunk->block != before)
        replaced++;
    if (!chunk->block)
        fault("the filter took the block away");
    /* what HDF5 2.2 checks, and what it cannot check */
    if (result > chunk->size)
        fault("%zu bytes returned, *buf_size is %zu", result, chunk->size);
    if (chunk->size > size_of(chunk->block))
        fault("*buf_size is %zu, the block has %zu", chunk->size, size_of(chunk->block));
    return result;
}

static void expect(const struct chunk *chunk, size_t got, const unsigned char *wanted, size_t nwanted, size_t number)
{
    if (got != nwanted || memcmp(chunk->block, wanted, nwanted))
        fault("job %zu gives %zu bytes, wanted are %zu%s", number, got, nwanted, got == nwanted ? ", others" : "");
}

static void run_job(filter_fn filter, const struct job *job, size_t number)
{
    struct chunk chunk = new_chunk(job->bytes, job->nbytes, job->spare);
    void *block = chunk.block;
    size_t size = chunk.size;
    size_t got = call(filter, job->flags, job, &chunk);
    switch (job->kind) {
    case ROUND_TRIP:
        if (!got)
            fault("job %zu: %zu bytes cannot be encoded", number, (size_t)job->nbytes);
        chunk.len = got;
        got = call(filter, REVERSE, job, &chunk);
        expect(&chunk, got, job->bytes, job->nbytes, number);
        break;
    case MUST_GIVE:
        expect(&chunk, got, job->wanted, job->nwanted, number);
        break;
    default:
        if (got)
            fault("job %zu gives %zu bytes, it must fail", number, got);
        if (chunk.block != block || chunk.size != size || memcmp(block, job->bytes, job->nbytes))
            fault("job %zu: a failure has changed the chunk", number);
    }
    H5free_memory(chunk.block);
}

static const unsigned char *take(const unsigned char **at, const unsigned char *end, size_t len)
{
    const unsigned char *start = *at;
    if ((size_t)(end - start) < len)
        fault("the file of jobs is cut");
    *at += len;
    return start;
}

static void number(const unsigned char **at, const unsigned char *end, void *value, size_t len)
{
    memcpy(value, take(at, end, len), len);
}

static unsigned char *copy(const unsigned char **at, const unsigned char *end, size_t len)
{
    return memcpy(malloc(len + 1), take(at, end, len), len);
}

struct work { filter_fn filter; struct job *jobs; uint32_t count; int first; };

static void *run_all(void *argument)
{
    struct work *work = argument;
    for (uint32_t i = 0; i < work->count; i++) {
        uint32_t at = (i + (uint32_t)work->first) % work->count;
        run_job(work->filter, &work->jobs[at], at);
    }
    return NULL;
}

/* Runs the jobs of a file through the filter of `library`, in `threads` threads at once; how many jobs there are. */
int run_jobs(const char *library, const char *path, int threads)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fault("%s", dlerror());
    const struct filter_class *(*info)(void) = (const struct filter_class *(*)(void))dlsym(handle, "H5PLget_plugin_info");
    if (!info || info()->version != 1)
        fault("%s has no record of a filter", library);

    FILE *file = fopen(path, "rb");
    if (!file)
        fault("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    size_t len = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(len + 1);
    if (fread(data, 1, len, file) != len)
        fault("cannot read %s", path);
    fclose(file);

    const unsigned char *at = data, *end = data + len;
    uint32_t count;
    number(&at, end, &count, 4);
    struct job *jobs = calloc(count, sizeof *jobs);
    for (uint32_t i = 0; i < count; i++) {
        struct job *job = &jobs[i];
        number(&at, end, &job->kind, 4);
        number(&at, end, &job->flags, 4);
        number(&at, end, &job->nwords, 4);
        number(&at, end, &job->nbytes, 8);
        number(&at, end, &job->spare, 8);
        number(&at, end, &job->nwanted, 8);
        job->words = (unsigned *)copy(&at, end, job->nwords * 4);
        job->bytes = copy(&at, end, job->nbytes);
        job->wanted = copy(&at, end, job->nwanted);
    }
    struct work work[threads];
    pthread_t ids[threads];
    for (int i = 0; i < threads; i++) {
        work[i] = (struct work){info()->filter, jobs, count, i * 7};
        if (pthread_create(&ids[i], NULL, run_all, &work[i]))
            fault("no thread");
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return (int)count;
}
