/*
 * callers LIBRARY JOBS THREADS OTHER CALLER: loads two libraries made of caller.c and has the second run the jobs.
 * The first is in the global scope, where a filter that looks for H5allocate_memory by name alone finds it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *load(const char *path, int scope)
{
    void *handle = dlopen(path, RTLD_NOW | scope);
    if (!handle) {
        fprintf(stderr, "fault: %s\n", dlerror());
        exit(3);
    }
    return handle;
}

static long count(void *library, const char *name)
{
    long (*function)(void) = (long (*)(void))dlsym(library, name);
    return function();
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    void *other = load(argv[4], RTLD_GLOBAL), *caller = load(argv[5], RTLD_LOCAL);
    int (*run)(const char *, const char *, int) = (int (*)(const char *, const char *, int))dlsym(caller, "run_jobs");
    int jobs = run(argv[1], argv[2], atoi(argv[3]));
    printf("{\"jobs\": %d, \"replaced\": %ld, \"alive\": %ld, \"alive in the other\": %ld}\n", jobs,
           count(caller, "blocks_replaced"), count(caller, "blocks_alive"), count(other, "blocks_alive"));
    return 0;
}
