/* malloc() and its kin, in place of libc's for the whole process: the library allocates through
 * GLib, and libc itself on the library's behalf. Under a sanitizer they are the sanitizer's. */
#include "fault.h"

#include <errno.h>
#include <stddef.h>

#include "memory.h" /* __GLIBC__ is known by now */

#if MEMORY_FAILS

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void *malloc(size_t size);
EXPORTED void *calloc(size_t count, size_t size);
EXPORTED void *realloc(void *old, size_t size);

static bool is_refused(void)
{
    int error = fault_of(CALL_malloc);

    if (error)
        errno = error;
    return error != 0;
}

void *malloc(size_t size)
{
    return is_refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return is_refused() ? NULL : __libc_realloc(old, size);
}

#endif
