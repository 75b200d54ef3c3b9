#include "onlooker.h"
#include "closing.h"
#include "connect.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- on a thread of the library ---- */

static void hear_log(const zkl_log_record *record, void *data)
{
    struct onlooker *o = data;

    if (o->settings->verbose)
        say("%s", record->text);
    if (strcmp(record->event, "watch-failed") == 0)
        reader_want_again(&o->reader); /* which says why */
}

static void hear_refusal(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct onlooker *o = data;

    (void)s, (void)id;
    if (event == ZKL_SESSION_REFUSED)
        reader_want_again(&o->reader);
}

/* A refusal that came before is not told again. */
static int begin_reading(struct onlooker *o)
{
    if (zkl_session_on_change(o->session, hear_refusal, o) != 0)
        return fail_last(o->path);
    if (zkl_session_outage(o->session) == ZKL_OUTAGE_AUTH)
        reader_want_again(&o->reader);
    return GO_ON;
}

/* ---- the reader of our output ---- */

/* A pipe that only we write to can be asked whether somebody reads it. */
static bool is_pipe(void)
{
    struct stat stat;

    return fstat(STDOUT_FILENO, &stat) == 0 && S_ISFIFO(stat.st_mode) &&
           (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY;
}

/* The status of SIGPIPE if the reader is gone, else GO_ON. */
static int look_at_reader(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) > 0 && out.revents & POLLERR ? STATUS_SIGNAL + SIGPIPE : GO_ON;
}

/* ---- looking on ---- */

static int wait_for_more(struct onlooker *o)
{
    int signo, status = GO_ON;

    events_wait(o->events);
    if (o->ops->heed)
        status = o->ops->heed(o);
    else if ((signo = events_asked_to_end(o->events)) != 0)
        status = STATUS_SIGNAL + signo;
    return status == GO_ON && o->prints ? look_at_reader() : status;
}

/* Looks before it waits: what came while we were connecting wakes nobody any more. */
static int go_on(struct onlooker *o)
{
    struct reading *newest = NULL;
    int status = GO_ON;

    if (o->prints && is_pipe())
        events_add(o->events, STDOUT_FILENO);
    while (status == GO_ON) {
        newest = reader_take(&o->reader);
        if (newest && newest->error.code != 0 && newest->error.code != ZKL_ENOENT)
            break;
        status = o->ops->see(o, newest);
        if (status == GO_ON)
            status = wait_for_more(o);
    }
    if (o->ops->end)
        o->ops->end(o);
    if (status != GO_ON)
        return status;
    status = fail_error(&newest->error, o->path);
    reading_unref(newest);
    return status;
}

int onlooker_run(struct onlooker *o)
{
    int status = session_open_heard(o->settings, &o->session, hear_log, o);

    if (status != GO_ON)
        return status;
    events_reap_strangers(o->events);
    o->reader = (struct reader){.read = o->ops->read, .data = o, .events = o->events};
    status = reader_start(&o->reader);
    if (status != GO_ON) {
        zkl_session_close(o->session);
        return status;
    }
    if (o->ops->open)
        status = o->ops->open(o);
    if (status == GO_ON)
        status = session_connect(o->settings, &o->session, ZKL_FOREVER, o->events);
    if (status == GO_ON)
        status = o->ops->begin(o);
    if (status == GO_ON)
        status = begin_reading(o);
    if (status == GO_ON)
        status = go_on(o);
    reader_stop(&o->reader);
    closing_close(o->session, CLOSING_PATIENCE_MS);
    reader_join(&o->reader);
    return status;
}
