/* What a semaphore handle is made of. Only semaphore*.c include this. */
#ifndef LIB_SEMAPHORE_HANDLE_H
#define LIB_SEMAPHORE_HANDLE_H

#include <glib.h>

#include "contender.h"

struct zkl_semaphore {
    gint refs; /* the user's, and one for each call that waits */
    zkl_session *session;
    char *path;    /* GRefString, with chroot */
    char *payload; /* GRefString */
    zkl_parents parents;
    bool numbered;
    bool curator; /* in Curator's layout */
    /* guarded by the monitor: */
    struct permit_limit *limit; /* an rc_box */
    GQueue waiters;             /* of zkl_op: acquiring */
};

/* 0, or the error that a blocking entry point returns first, already made the thread's last. */
int semaphore_check_blocking(const zkl_semaphore *m);

/* As the user sees it. */
const char *semaphore_path(const zkl_semaphore *m);

#endif
