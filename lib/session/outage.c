#include "outage.h"

#include "lib/base/log.h"

/* A connection that is back within the first was never missed. */
enum { FIRST_MS = 1000, AGAIN_MS = 60000 };

static int seconds(const zkl_session *s)
{
    return (int)((clock_now().boot - s->outage.since) / (1000 * CLOCK_MS));
}

static void on_time(void *data)
{
    zkl_session *s = data;
    zkl_error why;

    session_why_down(s, &why);
    log_line(s->log, ZKL_LOG_WARN, "no connection for %d s: %s", seconds(s), why.text);
    s->outage.told = true;
    timers_arm(s->timers, &s->outage.timer, clock_now().boot + AGAIN_MS * CLOCK_MS, on_time, s);
}

void outage_begin(zkl_session *s)
{
    if (s->outage.on)
        return;
    s->outage.on = true;
    s->outage.since = clock_now().boot;
    timers_arm(s->timers, &s->outage.timer, s->outage.since + FIRST_MS * CLOCK_MS, on_time, s);
}

void outage_stop(zkl_session *s)
{
    timers_cancel(&s->outage.timer);
    s->outage.on = s->outage.told = false;
    s->outage.facts = 0;
}

void outage_end(zkl_session *s)
{
    if (s->outage.told)
        log_line(s->log, ZKL_LOG_WARN, "%s: connected again after %d s", s->shown_hosts,
                 seconds(s));
    outage_stop(s);
}

bool outage_is_news(zkl_session *s, enum outage_fact fact)
{
    bool news = !(s->outage.facts & fact);

    s->outage.facts |= fact;
    return news;
}
