#include "common.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static char **arguments;

void options_set(char **argv)
{
    arguments = argv + 1;
}

const char *option(const char *key, const char *fallback)
{
    size_t length = strlen(key);

    for (char **a = arguments; *a; a++)
        if (strncmp(*a, key, length) == 0 && (*a)[length] == '=')
            return *a + length + 1;
    return fallback;
}

int64_t option_number(const char *key, int64_t fallback)
{
    const char *value = option(key, NULL);

    return value ? strtoll(value, NULL, 10) : fallback;
}

void fail(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    _exit(1);
}

int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

const char *told(void)
{
    static char line[32];

    return fgets(line, sizeof line, stdin);
}

void times_add(struct times *t, int64_t ns)
{
    uint64_t v = ns > 0 ? (uint64_t)ns : 0;
    int shift = v < 64 ? 0 : 58 - __builtin_clzll(v);

    t->count[shift * 64 + (int)(v >> shift)]++;
    if (ns > t->longest)
        t->longest = ns;
}

static int64_t in_us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

struct usage usage_now(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (struct usage){now_ns(), in_us(r.ru_utime) + in_us(r.ru_stime),
                          r.ru_nvcsw + r.ru_nivcsw};
}

void answer_begin(int64_t ops, struct usage begin)
{
    struct usage end = usage_now();

    printf("{\"ops\":%lld", (long long)ops);
    answer_number("seconds", (double)(end.ns - begin.ns) * 1e-9);
    answer_number("cpu_us", (double)(end.cpu_us - begin.cpu_us));
    answer_number("switches", (double)(end.switches - begin.switches));
}

void answer_number(const char *key, double value)
{
    printf(",\"%s\":%.10g", key, value);
}

void answer_times(const char *key, const struct times *t)
{
    const char *comma = "";

    printf(",\"%s\":{", key);
    for (int i = 0; i < TIMES_BUCKETS; i++) {
        if (t->count[i] == 0)
            continue;
        printf("%s\"%llu\":%u", comma, (unsigned long long)(i % 64) << (i / 64), t->count[i]);
        comma = ",";
    }
    printf("}");
    answer_number("longest_ns", (double)t->longest);
}

void answer_end(void)
{
    say("}");
}

struct memory memory_now(void)
{
    struct memory m = {0, 0};
    long total, resident;
    FILE *f = fopen("/proc/self/statm", "r");

    malloc_trim(0);
    struct mallinfo2 heap = mallinfo2();
    m.heap = (int64_t)(heap.uordblks + heap.hblkhd);
    if (f && fscanf(f, "%ld %ld", &total, &resident) == 2)
        m.resident = (int64_t)resident * sysconf(_SC_PAGESIZE);
    if (f)
        fclose(f);
    return m;
}
