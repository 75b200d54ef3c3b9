#include "error.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clean.h"

static _Thread_local zkl_error last;

static const char *const texts[] = {
    [0] = "success",
    [-ZKL_EINVAL] = "invalid argument",
    [-ZKL_ENOMEM] = "the system refused a thread or descriptor",
    [-ZKL_ETIMEDOUT] = "the time limit passed",
    [-ZKL_EBUSY] = "another contender is first",
    [-ZKL_ECANCELED] = "canceled",
    [-ZKL_EPERM] = "the caller does not hold it",
    [-ZKL_ELOST] = "the grant was lost",
    [-ZKL_ECLOSED] = "closed",
    [-ZKL_EDEADLK] = "it would block inside a callback or wait for itself",
    [-ZKL_ECHILD] = "called in a forked child",
    [-ZKL_EHOST] = "no server name can be resolved",
    [-ZKL_EUNREACHABLE] = "no server answers",
    [-ZKL_EACCES] = "the server refused permission",
    [-ZKL_EAUTH] = "the server refused the credentials",
    [-ZKL_EPATH] = "the path is below an ephemeral node",
    [-ZKL_EOVERFLOW] = "the directory's sequence numbers are used up",
    [-ZKL_ELIMIT] = "too much at once",
    [-ZKL_ENOENT] = "no such node",
    [-ZKL_ERANGE] = "the buffer is too small",
    [-ZKL_EPROTO] = "the server gave an invalid answer",
    [-ZKL_EEXIST] = "the node exists already",
    [-ZKL_EVERSION] = "the node has another version",
    [-ZKL_ENOTEMPTY] = "the node has children",
    [-ZKL_EUNKNOWN] = "it may or may not have been applied",
    [-ZKL_ELAYOUT] = "the directory has children of an incompatible recipe",
    [-ZKL_EOVERDUE] = "the last instant of the calendar has no run",
};

const char *zkl_strerror(int err)
{
    if (err > 0 || err <= -(int)G_N_ELEMENTS(texts))
        return "unknown error";
    return texts[-err];
}

int zkl_last_error(zkl_error *ret)
{
    if (ret)
        *ret = last;
    return last.code;
}

__attribute__((format(printf, 4, 0))) static int
fill_error(zkl_error *ret, int code, const char *path, const char *format, va_list list)
{
    char text[sizeof ret->text * 2];

    vsnprintf(text, sizeof text, format, list);
    ret->code = code;
    clean_copy(ret->path, sizeof ret->path, path ? path : "");
    clean_copy(ret->text, sizeof ret->text, text);
    return code;
}

int error_fill(zkl_error *ret, int code, const char *path, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fill_error(ret, code, path, format, list);
    va_end(list);
    return code;
}

int error_set(int code, const char *path, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fill_error(&last, code, path, format, list);
    va_end(list);
    return code;
}

int error_keep(const zkl_error *error)
{
    last = *error;
    return last.code;
}
