#include "flush.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "denial.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "participant.h"
#include "request.h"

/* Counts for all sessions of this process without TLS: OpenSSL may have ended before us. */
static atomic_int unconfirmed;

static void flush_count(const zkl_session *s, int change)
{
    if (!s->tls.ca)
        atomic_fetch_add(&unconfirmed, change);
}

void flush_asked(zkl_session *s)
{
    s->deletes.asked++;
    flush_count(s, 1);
}

void flush_answered(zkl_session *s)
{
    s->deletes.answered++;
    flush_count(s, -1);
    pthread_cond_broadcast(&s->changed);
}

void flush_leaves(zkl_session *s)
{
    s->deletes.leaving++;
    flush_count(s, 1);
}

void flush_left(zkl_session *s)
{
    s->deletes.leaving--;
    flush_count(s, -1);
    pthread_cond_broadcast(&s->changed);
}

/* ---- at exit() ---- */

enum { EXIT_PAUSES = 50 };

/* Takes no lock, calls nobody and touches nothing that ends: whatever the thread was doing, and
 * whatever other threads and the handlers before this one have done, it returns. */
static void flush_at_exit(void)
{
    const struct timespec pause = {.tv_nsec = CLOCK_MS};
    int before;

    if (callbacks_inside())
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (int n = 0; n < EXIT_PAUSES && atomic_load(&unconfirmed) > 0; n++)
        nanosleep(&pause, NULL);
    pthread_setcancelstate(before, NULL);
}

/* What the parent asked for is not the child's. */
static void forget_parent(void)
{
    atomic_store(&unconfirmed, 0);
}

static void flush_install(void)
{
    fork_handle(NULL, NULL, forget_parent);
    atexit(flush_at_exit);
}

void flush_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, flush_install);
}

/* ---- a call ---- */

/* Deletes are answered in the order in which they were asked for. So a flush waits for none that
 * comes later. */
struct flush {
    uint64_t asked;
    bool leaving; /* there were some that had not asked for theirs */
};

static bool is_flushed(const zkl_session *s, struct flush *f)
{
    if (f->leaving) {
        f->asked = s->deletes.asked;
        f->leaving = s->deletes.leaving > 0;
    }
    return !s->refused && !f->leaving && s->deletes.answered >= f->asked && !request_refused(s) &&
           s->stores <= (s->store != NULL);
}

/* The session stays as long as something is held or kept in it. Then a node that the server refuses
 * to delete stays too. */
static int why_not_flushed(const zkl_session *s, bool over)
{
    const char *refused = request_refused(s);
    zkl_error why;

    if (s->refused || (over && !s->up))
        session_why_down(s, &why);
    else if (refused && (participants_hold(s) || s->users.kept > 0))
        denial_fill(s, &why, ZKL_EACCES, session_path(s, refused));
    else if (over)
        error_fill(&why, ZKL_ETIMEDOUT, NULL, "not all that was released is known to be deleted");
    else
        return 0;
    return error_keep(&why);
}

static int await_flush(zkl_session *s, const struct timespec *until)
{
    struct flush f = {.leaving = true};

    for (bool more = true;; more = session_wait_change(s, until)) {
        if (s->closing)
            return error_set(ZKL_ECLOSED, NULL, "the session was closed");
        if (is_flushed(s, &f))
            return 0;
        const int code = why_not_flushed(s, !more);
        if (code)
            return code;
    }
}

int zkl_session_flush(zkl_session *s, int64_t timeout_ms)
{
    return session_await(s, "zkl_session_flush", timeout_ms, await_flush);
}
