/* Failures: made once where they are found, kept per thread, carried by completions. */
#ifndef LIB_ERROR_H
#define LIB_ERROR_H

#include <zkl.h>

/* Fills *ret; path may be NULL. Returns code. */
int error_fill(zkl_error *ret, int code, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fills this thread's last error in the same way. */
int error_set(int code, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes *error this thread's last. Returns its code. */
int error_keep(const zkl_error *error);

#endif
