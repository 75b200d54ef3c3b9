#include "onlooker.h"
#include "closing.h"
#include "connect.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- on a thread of the library ---- */

/* Takes what the library logs. When a watch has failed, a reading shows why. */
static void onlooker_on_log(const zkl_log_record *record, void *data)
{
    struct onlooker *o = data;

    if (o->settings->verbose)
        say("%s", record->text);
    if (strcmp(record->event, "watch-failed") == 0)
        reader_want_again(&o->reader);
}

/* Asks for a reading, which shows why the servers refuse us. Runs on a thread of the library. */
static void onlooker_on_session(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct onlooker *o = data;

    (void)s, (void)id;
    if (event == ZKL_SESSION_REFUSED)
        reader_want_again(&o->reader);
}

/* ---- showing changes ---- */

/* Waits for an event. Returns GO_ON, or a status to end with: that of SIGPIPE if nobody reads our
 * output any more. */
static int wait_for_more(struct onlooker *o)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    int signo, status = GO_ON;

    if (o->ops->on_event) {
        events_wait(o->events);
        status = o->ops->on_event(o);
    } else if ((signo = events_wait_at_most(o->events, -1)) != 0) {
        status = STATUS_SIGNAL + signo;
    }
    if (status == GO_ON && o->prints && poll(&out, 1, 0) > 0 && out.revents & POLLERR)
        status = STATUS_SIGNAL + SIGPIPE;
    return status;
}

/* Shows changes until something ends that. It looks before it waits: what came while we were
 * connecting wakes nobody any more. */
static int onlooker_look_on(struct onlooker *o)
{
    struct reading *newest = NULL;
    struct stat stat;
    int status = GO_ON;

    /* A pipe that is open for writing alone tells whether somebody reads it. */
    if (o->prints && fstat(STDOUT_FILENO, &stat) == 0 && S_ISFIFO(stat.st_mode) &&
        (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY)
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
    int status = session_open_logged(o->settings, &o->session, onlooker_on_log, o);

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
    if (status == GO_ON && zkl_session_on_change(o->session, onlooker_on_session, o) != 0)
        status = fail_last(o->path);
    if (status == GO_ON && zkl_session_outage(o->session) == ZKL_OUTAGE_AUTH)
        reader_want_again(&o->reader); /* a refusal before this is not told again */
    if (status == GO_ON)
        status = onlooker_look_on(o);
    reader_stop(&o->reader);
    closing_close(o->session, CLOSING_PATIENCE_MS);
    reader_join(&o->reader);
    return status;
}
