#include "failure.h"

#include <stddef.h>
#include <zkl/error.h>

enum retry {
    RETRY_LATER,   /* the failure passes by itself, or by what others do */
    RETRY_REFUSED, /* the failure may pass, but not soon */
    RETRY_NEVER    /* the failure lasts until somebody writes another command line */
};

/* A service manager sees only the status. So two causes have two numbers if a retry helps with one
 * and not with the other. A unit lists the numbers of REFUSED and NEVER, as
 * examples/zkl-standby@.service does. */
static const struct cause {
    int status;
    enum retry retry;
    int codes[5]; /* errors of the library; those in no row are STATUS_INTERNAL */
} causes[] = {
    {STATUS_CONFLICT, RETRY_LATER, {ZKL_EBUSY, ZKL_ENOENT}},
    {STATUS_USAGE, RETRY_NEVER, {ZKL_EINVAL}},
    {STATUS_DATA, RETRY_LATER, {ZKL_ELAYOUT, ZKL_EPATH}},
    {STATUS_UNAVAILABLE,
     RETRY_LATER,
     {ZKL_EHOST, ZKL_EUNREACHABLE, ZKL_EPROTO, ZKL_ETIMEDOUT, ZKL_EUNKNOWN}},
    {STATUS_INTERNAL, RETRY_LATER, {0}},
    {STATUS_IOERR, RETRY_LATER, {0}},
    {STATUS_LOST, RETRY_LATER, {ZKL_ELOST}},
    {STATUS_NOPERM, RETRY_REFUSED, {ZKL_EACCES, ZKL_EAUTH}},
    {STATUS_OVERDUE, RETRY_LATER, {ZKL_EOVERDUE}},
    {STATUS_NOEXEC, RETRY_NEVER, {0}},
    {STATUS_NOTFOUND, RETRY_NEVER, {0}},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int failure_status(int code)
{
    for (size_t i = 0; i < COUNT(causes); i++)
        for (size_t k = 0; k < COUNT(causes[i].codes) && code != 0; k++)
            if (causes[i].codes[k] == code)
                return causes[i].status;
    return STATUS_INTERNAL;
}

bool failure_passes(int status, bool was_in, int64_t *refused_since, int64_t now,
                    int64_t bearable_ms)
{
    enum retry retry = RETRY_NEVER; /* a status in no row is a signal's: somebody asks us to end */

    for (size_t i = 0; i < COUNT(causes); i++)
        if (causes[i].status == status)
            retry = causes[i].retry;
    switch (retry) {
    case RETRY_LATER:
        return true;
    case RETRY_REFUSED:
        if (*refused_since == 0)
            *refused_since = now;
        return was_in && now - *refused_since < bearable_ms;
    default:
        return false;
    }
}
