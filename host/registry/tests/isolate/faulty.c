/* A filter that inverts bytes, and misbehaves as the first byte of what it decodes says. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    int version, id;
    unsigned encodes, decodes;
    const char *name;
    void *can_apply, *set_local;
    size_t (*filter)(unsigned, size_t, const unsigned *, size_t, size_t *, void **);
} filter_record;

#ifdef CRASHES_WHEN_OPENED
__attribute__((constructor)) static void crash(void) { abort(); }
#endif
#ifdef SLOW_WHEN_OPENED
__attribute__((constructor)) static void sleep_first(void) { usleep(1500000); }
#endif
#ifdef HANGS_WHEN_OPENED
__attribute__((constructor)) static void hang(void)
{
    for (;;)
        ;
}
#endif

static void on_all_descriptors(int what)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 3; fd < 1024; fd++) {
        if (fd == null)
            continue;
        if (what == 'W' && write(fd, "this is no answer, and it is longer than the head of one", 56) < 0)
            continue;
        if (what == 'C')
            close(fd);
        if (what == 'D' && fcntl(fd, F_GETFD) >= 0)
            dup2(null, fd);
    }
}

/* Waits until two processes are in this call, by a file of each in a folder; 0 if no other comes. */
static int meet(const char *folder, size_t len)
{
    char path[4096];
    snprintf(path, sizeof path, "%.*s/%d", (int)len, folder, (int)getpid());
    close(open(path, O_CREAT | O_WRONLY, 0600));
    *strrchr(path, '/') = 0;
    for (int look = 0; look < 2000; look++) {
        int files = 0;
        DIR *entries = opendir(path);
        for (struct dirent *entry; entries && (entry = readdir(entries));)
            files += entry->d_name[0] != '.';
        if (entries)
            closedir(entries);
        if (files > 1)
            return 1;
        usleep(10000);
    }
    return 0;
}

static size_t filter(unsigned flags, size_t count, const unsigned *params, size_t len, size_t *size, void **buf)
{
    (void)count, (void)params, (void)size;
    unsigned char *bytes = *buf;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)~bytes[i];
    if (!(flags & 0x100))
        return len;
    switch (bytes[0]) {
    case 'A': abort();
    case 'S': *(volatile int *)8 = 1; break;
    case '0': exit(0);
    case 'Q': fputs("first line\nthe disk is \x1b[31m on fire\n\n", stderr); _exit(7);
    case 'B':
        for (;;)
            ;
    case 'Z':
        for (;;)
            sleep(1000);
    case 'M':
        for (;;)
            memset(malloc(1 << 20), 1, 1 << 20);
    case 'L': return (size_t)-20;
    case '1': return len - 1;
    case 'W':
    case 'C':
    case 'D': on_all_descriptors(bytes[0]); break;
    case 'P':
        for (int i = 0; i < 20000; i++) {
            puts("printed by a plugin on standard output, where its host may talk to somebody else");
            fputs("printed by a plugin on standard error, where nobody else may listen\n", stderr);
        }
        fflush(stdout);
        break;
    case 'K':
        /* A child that holds everything open. */
        if (!fork())
            for (;;)
                sleep(1000);
        *(volatile int *)8 = 1;
    case 'Y':
        /* A child outside the group, for a while. */
        if (!fork()) {
            setsid();
            for (time_t end = time(0) + 20; time(0) < end;)
                if (write(2, "on and on\n", 10) < 0)
                    break;
            _exit(0);
        }
        usleep(20000);
        abort();
    case 'N': usleep(100000); break;
    case 'R': return meet((char *)bytes + 1, len - 1) ? len : 0;
    case 'E':
        /* What is not to reach a plugin. */
        if (getenv("BLOSC_TYPESIZE") || getenv("HDF5_PLUGIN_PATH") || getenv("LD_PRELOAD") || !getenv("PATH"))
            return 0;
        break;
    }
    return len;
}

int H5PLget_plugin_type(void) { return 0; }

const void *H5PLget_plugin_info(void)
{
    static filter_record record = {1, 40400, 1, 1, "faulty", 0, 0, filter};
    return &record;
}
