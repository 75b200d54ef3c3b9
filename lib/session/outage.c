#include "outage.h"

#include "lib/base/error.h"
#include "lib/base/log.h"

/* An outage that ends within FIRST_MS was never missed. Each later pause is twice as long as the
 * one before, up to LAST_MS. */
enum { FIRST_MS = 1000, AGAIN_MS = 60000, LAST_MS = 3600000 };

/* ---- why ---- */

static zkl_outage of_trouble(enum store_trouble trouble)
{
    static const zkl_outage outages[] = {
        [TROUBLE_UNKNOWN] = ZKL_OUTAGE_UNKNOWN,
        [TROUBLE_NO_ROUTE] = ZKL_OUTAGE_NO_ROUTE,
        [TROUBLE_REFUSED] = ZKL_OUTAGE_REFUSED,
        [TROUBLE_SILENT] = ZKL_OUTAGE_SILENT,
        [TROUBLE_HANGS_UP] = ZKL_OUTAGE_HANGS_UP,
        [TROUBLE_FOREIGN] = ZKL_OUTAGE_FOREIGN,
        [TROUBLE_TLS] = ZKL_OUTAGE_TLS,
        [TROUBLE_NOT_SERVING] = ZKL_OUTAGE_NOT_SERVING,
        [TROUBLE_NONE] = ZKL_OUTAGE_UNKNOWN,
        [TROUBLE_MEMORY] = ZKL_OUTAGE_MEMORY,
        [TROUBLE_DESCRIPTORS] = ZKL_OUTAGE_DESCRIPTORS,
    };

    return outages[trouble];
}

/* Certain reasons come before those that were found out by asking. But if a name is unknown, or TLS
 * is nonsense to us, such a finding may be the reason. */
static zkl_outage why(const zkl_session *s)
{
    if (s->refused)
        return ZKL_OUTAGE_AUTH;
    if (s->trouble >= TROUBLE_MEMORY || s->trouble == TROUBLE_TLS)
        return of_trouble(s->trouble);
    if (s->unusable)
        return ZKL_OUTAGE_CERTIFICATE;
    if (s->foreigners)
        return ZKL_OUTAGE_FOREIGN;
    if (s->host_unknown)
        return ZKL_OUTAGE_HOST;
    return s->rollback.refuses ? ZKL_OUTAGE_ROLLED_BACK : of_trouble(s->trouble);
}

int session_why_down(const zkl_session *s, zkl_error *ret)
{
    static const char *const texts[] = {
        [ZKL_OUTAGE_UNKNOWN] = "no server answers",
        [ZKL_OUTAGE_HOST] = "no server name can be resolved",
        [ZKL_OUTAGE_NO_ROUTE] = "no server answers: there is no route to it",
        [ZKL_OUTAGE_REFUSED] = "no server answers: connection refused",
        [ZKL_OUTAGE_SILENT] = "no server answers: nothing comes back",
        [ZKL_OUTAGE_HANGS_UP] = "no server answers: it closes the connection at once; it may have "
                                "too many from this address",
        [ZKL_OUTAGE_NOT_SERVING] = "the server that answers there does not serve: it is starting, "
                                   "or has no quorum",
        [ZKL_OUTAGE_FOREIGN] = "the server that answers there is not ZooKeeper",
        [ZKL_OUTAGE_TLS] = "the server that answers there speaks TLS, and this connection does not",
        [ZKL_OUTAGE_DESCRIPTORS] = "cannot connect: no file descriptor is left",
        [ZKL_OUTAGE_MEMORY] = "cannot connect: the system refuses memory or a thread",
        [ZKL_OUTAGE_ROLLED_BACK] = "the servers' data is older than what the session has seen",
    };
    const zkl_outage outage = why(s);
    if (outage == ZKL_OUTAGE_CERTIFICATE)
        return error_fill(ret, ZKL_EUNREACHABLE, s->shown_hosts, "%s", s->unusable);
    const int code = outage == ZKL_OUTAGE_AUTH   ? ZKL_EAUTH
                     : outage == ZKL_OUTAGE_HOST ? ZKL_EHOST
                                                 : ZKL_EUNREACHABLE;

    return error_fill(ret, code, s->shown_hosts, "%s: %s", s->shown_hosts,
                      code == ZKL_EAUTH ? zkl_strerror(code) : texts[outage]);
}

zkl_outage zkl_session_outage(zkl_session *s)
{
    if (session_check(s))
        return ZKL_OUTAGE_UNKNOWN;
    session_lock(s);
    const zkl_outage outage = s->closing ? ZKL_OUTAGE_CLOSED : s->up ? ZKL_OUTAGE_NONE : why(s);
    session_unlock(s);
    return outage;
}

/* ---- what is said of it ---- */

static int seconds(const zkl_session *s)
{
    return (int)((clock_now().boot - s->outage.since) / (1000 * CLOCK_MS));
}

/* Those that have failed since, as far as libzookeeper logs them. */
static char *describe_attempts(const zkl_session *s)
{
    const unsigned failed = log_attempts(s->log) - s->outage.attempts_before;

    return failed == 0 ? g_strdup("")
                       : g_strdup_printf(", %u attempt%s", failed, failed == 1 ? "" : "s");
}

static void outage_on_time(void *data)
{
    zkl_session *s = data;
    zkl_error error;

    session_why_down(s, &error);
    char *attempts = describe_attempts(s);
    log_line(s->log, ZKL_LOG_WARN, "no-connection", NULL, "no connection for %d s%s: %s",
             seconds(s), attempts, error.text);
    g_free(attempts);
    s->outage.told = true;
    timers_arm(s->timers, &s->outage.timer, clock_now().boot + s->outage.pause_ms * CLOCK_MS,
               outage_on_time, s);
    s->outage.pause_ms = MIN(2 * s->outage.pause_ms, LAST_MS);
}

void outage_begin(zkl_session *s)
{
    if (s->outage.on)
        return;
    s->outage.on = true;
    s->outage.since = clock_now().boot;
    s->outage.pause_ms = AGAIN_MS;
    s->outage.attempts_before = log_attempts(s->log);
    timers_arm(s->timers, &s->outage.timer, s->outage.since + FIRST_MS * CLOCK_MS, outage_on_time,
               s);
}

void outage_stop(zkl_session *s)
{
    timers_cancel(&s->outage.timer);
    s->outage.on = s->outage.told = false;
    s->outage.facts = 0;
}

void outage_end(zkl_session *s)
{
    char *attempts = describe_attempts(s);

    if (s->outage.told)
        log_line(s->log, ZKL_LOG_WARN, "connected-again", NULL, "%s: connected again after %d s%s",
                 s->shown_hosts, seconds(s), attempts);
    g_free(attempts);
    outage_stop(s);
}

bool outage_is_news(zkl_session *s, enum outage_fact fact)
{
    bool news = !(s->outage.facts & fact);

    s->outage.facts |= fact;
    return news;
}
