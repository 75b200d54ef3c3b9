/* Records which error each public function has returned, or given to its completion, while tests
 * run. The file that ZKL_SEEN names has a line for each function: its name, then a column for each
 * code, an x where it was seen; man/errors.py compares it with the manual. Every process of the
 * tests maps the file and stores bytes there: no lock, no system call, nothing lost when a process
 * is killed.
 *
 * Test programs are linked with this and with a copy of the library whose functions are called
 * real_zkl_... (core.a). With PRELOAD it goes before libzkl.so instead: for commands. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zkl-zookeeper.h>
#include <zkl.h>

#ifdef PRELOAD
#include <dlfcn.h>
#define DECLARE(name, parameters)
#define REAL(name) ((__typeof__(&name))real(#name))

/* An interpreter may have opened the library for itself alone: then it is not among those next. */
static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    void *library = found ? NULL : dlopen("libzkl.so.0", RTLD_LAZY | RTLD_NOLOAD);

    return library ? dlsym(library, name) : found;
}
#else
#define DECLARE(name, parameters) int real_##name parameters;
#define REAL(name) real_##name
#endif

enum { NAME = 40, LINE = 72 };

#define CALL(name, parameters, arguments) SEEN_##name,
#define BEGIN(name, data, parameters, arguments) SEEN_##name,
enum {
#include "calls.inc"
    FUNCTIONS
};
#undef CALL
#undef BEGIN

static const char *const names[] = {
#define CALL(name, parameters, arguments) #name,
#define BEGIN(name, data, parameters, arguments) #name,
#include "calls.inc"
#undef CALL
#undef BEGIN
};

static char (*lines)[LINE];

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("ZKL_SEEN");
    int fd = file ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;

    if (fd < 0)
        return;
    void *map = ftruncate(fd, FUNCTIONS * LINE) == 0
                    ? mmap(NULL, FUNCTIONS * LINE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                    : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED)
        return;
    lines = map;
    /* What others have written is the same. */
    for (int i = 0; i < FUNCTIONS; i++) {
        memcpy(lines[i], names[i], strlen(names[i]));
        lines[i][LINE - 1] = '\n';
    }
}

static int seen(int function, int code)
{
    if (lines && code < 0 && code > NAME - LINE + 1)
        lines[function][NAME - code] = 'x';
    return code;
}

/* A completion and its data, until it is called. */
struct told {
    int function;
    void (*fn)(void);
    void *data;
    atomic_bool used;
};

/* No memory is allocated: there are tests of how much of it an operation needs, and of what happens
 * where there is none. */
static struct told pool[1024];
static atomic_uint next;

/* NULL: there are too many to record each. */
static struct told *told_new(int function, void (*fn)(void), void *data)
{
    if (!fn || !lines)
        return NULL;
    for (int tries = 0; tries < 64; tries++) {
        struct told *told = &pool[next++ % (sizeof pool / sizeof *pool)];
        if (atomic_exchange(&told->used, true))
            continue;
        told->function = function;
        told->fn = fn;
        told->data = data;
        return told;
    }
    return NULL;
}

static void told_end(struct told *told)
{
    if (told)
        told->used = false;
}

static void seen_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct told *told = data;
    zkl_acquired_fn fn = (zkl_acquired_fn)told->fn;
    void *own = told->data;

    seen(told->function, err ? err->code : 0);
    told_end(told);
    fn(grant, err, own);
}

static void seen_done(const zkl_error *err, void *data)
{
    struct told *told = data;
    zkl_done_fn fn = (zkl_done_fn)told->fn;
    void *own = told->data;

    seen(told->function, err ? err->code : 0);
    told_end(told);
    fn(err, own);
}

#define CALL(name, parameters, arguments)                                                          \
    DECLARE(name, parameters)                                                                      \
    int name parameters                                                                            \
    {                                                                                              \
        return seen(SEEN_##name, REAL(name) arguments);                                            \
    }
#define BEGIN(name, data, parameters, arguments)                                                   \
    DECLARE(name, parameters)                                                                      \
    int name parameters                                                                            \
    {                                                                                              \
        struct told *told = told_new(SEEN_##name, (void (*)(void))fn, data);                       \
        int code = seen(SEEN_##name, REAL(name) arguments);                                        \
        if (code != 0)                                                                             \
            told_end(told);                                                                        \
        return code;                                                                               \
    }
#include "calls.inc"
