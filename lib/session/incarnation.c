#include "incarnation.h"

#include "lib/base/credentials.h"
#include "lib/base/log.h"
#include "orphans.h"
#include "participant.h"
#include "proof_chain.h"
#include "request.h"
#include "watch.h"

/* ---- what is said of an outage ---- */

/* The first line comes after FIRST_MS: an outage that ends before was never missed. Each later
 * pause is twice as long as the previous one, up to LAST_MS. */
enum { FIRST_MS = 1000, AGAIN_MS = 60000, LAST_MS = 3600000 };

/* What else is said, once in an outage at most. */
enum outage_fact {
    OUTAGE_REFUSED = 1, /* the servers' data has gone back */
    OUTAGE_FOREIGN = 2, /* what answers is no ZooKeeper */
    OUTAGE_SYSTEM = 4   /* the system refuses a thread */
};

static int outage_seconds(const zkl_session *s)
{
    return (int)((clock_now().boot - s->outage.since) / (1000 * CLOCK_MS));
}

/* Returns words for the attempts that have failed since the outage began, as far as libzookeeper
 * logs them. */
static char *outage_attempts(const zkl_session *s)
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
    char *attempts = outage_attempts(s);
    log_line(s->log, ZKL_LOG_WARN, "no-connection", NULL, "no connection for %d s%s: %s",
             outage_seconds(s), attempts, error.text);
    g_free(attempts);
    s->outage.told = true;
    timers_arm(s->timers, &s->outage.timer, clock_now().boot + s->outage.pause_ms * CLOCK_MS,
               outage_on_time, s);
    s->outage.pause_ms = MIN(2 * s->outage.pause_ms, LAST_MS);
}

/* Begins an outage, unless one lasts. */
static void outage_begin(zkl_session *s)
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

/* Forgets the outage without a line: no connection is waited for any more. */
static void outage_stop(zkl_session *s)
{
    timers_cancel(&s->outage.timer);
    s->outage.on = s->outage.told = false;
    s->outage.facts = 0;
}

/* Ends the outage, since there is a connection. */
static void outage_end(zkl_session *s)
{
    char *attempts = outage_attempts(s);

    if (s->outage.told)
        log_line(s->log, ZKL_LOG_WARN, "connected-again", NULL, "%s: connected again after %d s%s",
                 s->shown_hosts, outage_seconds(s), attempts);
    g_free(attempts);
    outage_stop(s);
}

/* Whether the fact was not said yet in this outage; it counts as said now. */
static bool outage_is_news(zkl_session *s, enum outage_fact fact)
{
    bool news = !(s->outage.facts & fact);

    s->outage.facts |= fact;
    return news;
}

/* ---- one session after another ---- */

#define OPEN_RETRY_NS (1000 * CLOCK_MS)

static void on_store_event(void *context, enum store_event event, int64_t id, int timeout_ms);

static void on_store_watch(void *context, const char *path, enum store_fired fired)
{
    proof_chain_watch_fired(context, path);
    watch_fired(context, path, fired);
}

static void on_store_closed(void *context)
{
    zkl_session *s = context;

    session_lock(s);
    s->stores--;
    pthread_cond_broadcast(&s->changed);
    session_unlock(s);
    session_unref(s);
}

static void set_unusable(zkl_session *s, const char *why)
{
    g_free(s->unusable);
    s->unusable = g_strdup(why);
}

static void on_store_trouble(void *context, enum store_trouble trouble, const char *unusable)
{
    zkl_session *s = context;

    s->trouble = s->up ? TROUBLE_UNKNOWN : trouble;
    set_unusable(s, s->up ? NULL : unusable);
}

static int64_t on_store_left(void *context)
{
    const zkl_session *s = context;

    if (!participants_need_deadline(s) && !participants_are_busy(s))
        return 0;
    return proofs_left(&s->proofs, clock_now());
}

static void retry_begin(void *data)
{
    incarnation_begin(data);
}

static const struct session_hooks incarnation_hooks = {.answered = proof_chain_answered,
                                                       .purge = incarnation_purge};

void incarnation_begin(zkl_session *s)
{
    const struct store_config config = {.hosts = s->hosts,
                                        .timeout_ms = s->wanted_timeout_ms,
                                        .credentials = s->credentials,
                                        .acl = s->acl,
                                        .log = s->log,
                                        .tls = &s->tls};
    const struct store_sink sink = {on_store_event, on_store_watch,   on_store_closed, s,
                                    &s->monitor,    on_store_trouble, on_store_left};

    s->hooks = &incarnation_hooks;
    outage_begin(s);
    if (s->ops->open(&s->store, &config, &sink) == 0) {
        s->stores++;
        session_ref(s);
        return;
    }
    s->trouble = TROUBLE_MEMORY;
    if (outage_is_news(s, OUTAGE_SYSTEM))
        log_line(s->log, ZKL_LOG_ERROR, "no-resources", NULL, "%s: %s", s->shown_hosts,
                 zkl_strerror(ZKL_ENOMEM));
    timers_arm(s->timers, &s->open_timer, clock_now().boot + OPEN_RETRY_NS, retry_begin, s);
}

void incarnation_close(zkl_session *s)
{
    struct store *store = s->store;

    s->up = false;
    s->connection++;
    s->id = 0;
    s->store = NULL;
    if (store)
        s->ops->close(store);
    if (s->closing)
        outage_stop(s);
    if (s->closing || s->refused) /* for good: handles may keep the session for long */
        g_clear_pointer(&s->credentials, credentials_unref);
    timers_cancel(&s->open_timer);
    timers_cancel(&s->end_timer);
    timers_cancel(&s->proof_timer);
    timers_cancel(&s->deadline_timer);
    request_drop_all(s);
    orphan_forget_refusals(s);
    s->rollback = (struct rollback){.serves = false};
    s->resurrected = false;
    s->hears_ensemble = false;
    watch_clear(s);
    proofs_init(&s->proofs, s->proofs.tick, s->proofs.drift_permille);
}

static void close_in_time(void *session)
{
    incarnation_close(session);
}

void incarnation_close_in_time(zkl_session *s)
{
    timers_arm(s->timers, &s->end_timer, clock_now().boot + s->proofs.timeout, close_in_time, s);
}

void incarnation_replace(zkl_session *s, enum loss why)
{
    int64_t id = s->id;

    s->ended = why;
    incarnation_close(s);
    incarnation_begin(s);
    participants_tell(s, NEWS_REPLACED);
    log_session(s->log,
                s->id); /* what participants have logged was about the session that has ended */
    if (id != 0)
        session_tell(s, ZKL_SESSION_REPLACED, id);
}

bool incarnation_may_end(const zkl_session *s, enum end_reason why)
{
    const int64_t out = s->outage.on ? clock_now().boot - s->outage.since : 0;

    return users_let_end(&s->users, participants_presence(s), why, out, s->timeout_ms * CLOCK_MS);
}

void incarnation_warm(zkl_session *s)
{
    struct instant now = clock_now();

    s->warm_until = instant_add(now, s->warm_ns);
    s->entered = true;
    if (!s->up)
        return;
    if (s->proof_timer.at) { /* the chain of proofs runs */
        incarnation_heat(s);
        return;
    }
    /* Replaces a cold session by one that is proved by its creation, if nobody uses it. A
     * standalone server need not be left: it proves the session with the first write, while an
     * ensemble would need a chain. A server that the user's list does not name is not left, either:
     * those of the list may be gone. */
    const bool strays = s->ops->strays && s->ops->strays(s->store);
    if (!s->proofs.alone && !strays && proofs_deadline(&s->proofs, now) != DEADLINE_LASTING &&
        incarnation_may_end(s, ENDING_COLD))
        incarnation_replace(s, LOSS_REPLACED);
    else
        proof_chain_run(s);
}

void incarnation_heat(zkl_session *s)
{
    if (s->proofs.need != PROOF_HOT)
        proof_chain_run(s);
}

/* Whether the session has nodes that only its end removes, and may be ended. Before it exists it
 * has none, though participants may still count those of the last one. */
static bool must_purge(zkl_session *s)
{
    return s->id != 0 && (s->orphans > 0 || s->resurrected || !g_queue_is_empty(&s->refusals)) &&
           !s->closing && !s->refused && incarnation_may_end(s, ENDING_PURGE);
}

static void on_purge(void *data)
{
    if (must_purge(data))
        incarnation_replace(data, LOSS_REPLACED);
}

/* Ends it by a timer, since the caller is in the middle of a step. */
void incarnation_purge(zkl_session *s)
{
    if (must_purge(s))
        timers_arm(s->timers, &s->end_timer, clock_now().boot, on_purge, s);
}

void incarnation_want_end(zkl_session *s, bool wanted)
{
    s->orphans += !wanted;
    incarnation_purge(s);
}

void incarnation_want_end_no_more(zkl_session *s, bool wanted)
{
    s->orphans -= wanted;
}

void incarnation_retired(zkl_session *s)
{
    s->warm_until = instant_add(clock_now(), s->warm_ns);
    incarnation_purge(s);
}

void incarnation_user_left(zkl_session *s, unsigned *count)
{
    if (--*count == 0)
        incarnation_purge(s);
}

/* Whether a new session is to be replaced at once, because it was long in coming: then its creation
 * proves little. There is a server now, so the next session will be proved by its creation. If that
 * one is slow too, it stays, and the chain proves it. */
static bool is_stale(zkl_session *s, int timeout_ms)
{
    bool old = instant_reached(clock_now(), instant_add(s->begun, timeout_ms * CLOCK_MS / 4));

    s->reopened = old && !s->reopened;
    return s->reopened;
}

/* Gives up the session, because its server is no ZooKeeper, and tries again after a pause. */
static void leave_foreigner(zkl_session *s)
{
    const int64_t id = s->id;

    outage_begin(s);
    if (outage_is_news(s, OUTAGE_FOREIGN))
        log_line(s->log, ZKL_LOG_WARN, "not-zookeeper", NULL,
                 "%s: the server that answers there is not ZooKeeper", s->shown_hosts);
    s->ended = LOSS_REPLACED;
    incarnation_close(s);
    s->foreigners = true;
    timers_arm(s->timers, &s->open_timer, clock_now().boot + OPEN_RETRY_NS, retry_begin, s);
    participants_tell(s, NEWS_REPLACED);
    log_session(s->log, 0);
    if (id != 0)
        session_tell(s, ZKL_SESSION_REPLACED, id);
}

/* Ends what was suspected of the servers' data: a server has let the session in. If servers had
 * refused it before, others have counted past what it has seen. Then nodes that it had deleted may
 * stand again, and what it watches may have gone back unnoticed. */
static void end_suspicion(zkl_session *s)
{
    const bool refused = s->rollback.refused;

    s->resurrected |= s->rollback.refuses;
    s->rollback = (struct rollback){.serves = false};
    if (refused)
        participants_tell(s, NEWS_REWOUND);
    incarnation_purge(s);
}

static void on_up(zkl_session *s, int64_t id, int timeout_ms)
{
    const bool doubted = s->rollback.possible && id == s->id;

    if (id == 0 || timeout_ms <= 0 || timeout_ms > SESSION_TIMEOUT_MAX_MS) {
        leave_foreigner(s);
        return;
    }
    if (id != s->id && incarnation_may_end(s, ENDING_STALE) && is_stale(s, timeout_ms)) {
        incarnation_replace(s, LOSS_REPLACED);
        return;
    }
    s->up = true;
    s->connection++;
    s->stats.connections++;
    s->host_unknown = false;
    s->foreigners = false;
    s->trouble = TROUBLE_UNKNOWN;
    set_unusable(s, NULL);
    s->timeout_ms = timeout_ms;
    if (id != s->id) {
        s->id = id;
        s->made = s->connection;
        s->stats.sessions++;
        log_session(s->log, id);
        proofs_created(&s->proofs, s->begun, timeout_ms * CLOCK_MS);
        log_line(s->log, ZKL_LOG_INFO, "session", NULL,
                 "session 0x%" G_GINT64_MODIFIER "x, timeout %d ms", id, timeout_ms);
    } else {
        proofs_reconnected(&s->proofs, timeout_ms * CLOCK_MS);
    }
    outage_end(s);
    end_suspicion(s);
    proof_chain_connected(s);
    request_connected(s);
    proof_chain_run(s);
    participants_tell(s, NEWS_UP);
    /* if the data have gone back and grown again, the server has not fired all the watches that it
     * should have */
    if (doubted)
        watch_doubt_all(s);
    session_tell(s, ZKL_SESSION_CONNECTED, id);
    pthread_cond_broadcast(&s->changed);
}

static void on_down(zkl_session *s)
{
    outage_begin(s);
    if (s->up && participants_are_busy(s) && proofs_overdue(&s->proofs, clock_now()))
        s->rollback.possible = true;
    s->stats.disconnections += s->up;
    s->up = false;
    s->connection++;
    proofs_disconnected(&s->proofs);
    timers_cancel(&s->proof_timer);
    participants_tell(s, NEWS_SUSPECT);
    session_tell(s, ZKL_SESSION_SUSPENDED, s->id);
}

/* Replaces the session, and tells observers if tokens may begin anew, below those that they were
 * told. They may even if the servers, since then, have counted past what this session had seen. If
 * the servers had only lagged, this does no harm: the next session sees nothing that is older than
 * itself. */
static void replace_rolled_back(zkl_session *s, enum loss why)
{
    bool refused = s->rollback.refused;

    incarnation_replace(s, why);
    if (refused)
        participants_tell(s, NEWS_REWOUND);
}

/* Handles what the servers have shown while there was no connection, and replaces the session if
 * that is final. What was held was lost when its deadline passed, or is lost now. */
static void on_evidence(zkl_session *s, enum rollback_evidence evidence)
{
    int64_t timeout = MAX(s->wanted_timeout_ms, s->timeout_ms) * CLOCK_MS;
    struct instant now = clock_now();

    rollback_heard(&s->rollback, evidence, now);
    if (evidence == ROLLBACK_REFUSES && outage_is_news(s, OUTAGE_REFUSED))
        log_line(s->log, ZKL_LOG_WARN, "data-went-back", NULL,
                 "session 0x%" G_GINT64_MODIFIER "x: the servers' data is older than what this "
                 "session has seen: restored, emptied or late",
                 s->id);
    if (!rollback_is_final(&s->rollback, now, timeout))
        return;
    log_line(s->log, ZKL_LOG_WARN, "rejected", NULL,
             "session 0x%" G_GINT64_MODIFIER "x: the servers run but do not accept it any more; "
             "opening a new session",
             s->id);
    replace_rolled_back(s, LOSS_REPLACED);
}

static void on_store_event(void *context, enum store_event event, int64_t id, int timeout_ms)
{
    zkl_session *s = context;

    switch (event) {
    case STORE_EV_UP:
        on_up(s, id, timeout_ms);
        break;
    case STORE_EV_DOWN:
        on_down(s);
        break;
    case STORE_EV_EXPIRED:
        log_line(s->log, ZKL_LOG_WARN, "expired", NULL, "session 0x%" G_GINT64_MODIFIER "x expired",
                 s->id);
        replace_rolled_back(s, LOSS_EXPIRED);
        break;
    case STORE_EV_AUTH:
        s->up = false;
        s->refused = true;
        s->ended = LOSS_REFUSED;
        outage_stop(s);
        participants_tell(s, NEWS_REFUSED);
        request_drop_all(s);
        session_tell(s, ZKL_SESSION_REFUSED, s->id);
        /* libzookeeper goes on connecting to servers that demand credentials, which keeps what is
         * lost standing there. */
        incarnation_close_in_time(s);
        pthread_cond_broadcast(&s->changed);
        break;
    case STORE_EV_BEGIN:
        s->begun = clock_now();
        s->foreigners = s->host_unknown = false;
        break;
    case STORE_EV_HOST:
    case STORE_EV_FOREIGN:
        s->host_unknown = event == STORE_EV_HOST;
        s->foreigners = event == STORE_EV_FOREIGN;
        break;
    case STORE_EV_UNSERVED:
        on_evidence(s, ROLLBACK_NONE);
        break;
    case STORE_EV_SERVED:
        on_evidence(s, ROLLBACK_SERVES);
        break;
    case STORE_EV_REFUSED:
        on_evidence(s, ROLLBACK_REFUSES);
        break;
    }
}
