#include "proof_chain.h"

#include <limits.h>
#include <string.h>

#include "lib/base/log.h"
#include "participant.h"
#include "recipes/ensemble.h"
#include "request.h"
#include "stats.h"

/* Paths outside any chroot. The first two are present on every server, and nobody has made the
 * last. So no server can refuse to set it, and the leader answers that it is missing. */
#define SYSTEM_PATH "/zookeeper"
#define CONFIG_PATH "/zookeeper/config"
#define RENEWAL_PATH "/zookeeper/zkl-none"

static void deadline_on_time(void *data);

static void arm_deadline(zkl_session *s, struct instant now)
{
    timers_arm(s->timers, &s->deadline_timer, now.boot + instant_left(now, s->proofs.deadline),
               deadline_on_time, s);
}

/* Tells that the deadline has passed, if that is so on both clocks; the timer runs on one. */
static void deadline_on_time(void *data)
{
    zkl_session *s = data;
    const struct instant now = clock_now();

    if (!s->proofs.has_deadline)
        return;
    if (proofs_deadline(&s->proofs, now) != DEADLINE_NONE)
        arm_deadline(s, now);
    else
        participants_tell(s, NEWS_DEADLINE_PASSED);
}

static void spread_deadline(zkl_session *s, struct instant now, enum session_news news)
{
    participants_tell(s, news);
    arm_deadline(s, now);
}

void proof_chain_answered(zkl_session *s, enum proof_kind kind, struct instant sent)
{
    const bool step = kind == PROOF_SYNC || kind == PROOF_RENEWAL || kind == PROOF_KEEP;
    const struct instant now = clock_now();
    const enum proof_kind worth = proof_by_gain(&s->proofs, kind, sent, now);

    if (kind == PROOF_RENEWAL)
        stats_renewed(s, sent, now);
    if (worth != kind && participants_need_deadline(s))
        kind = worth;
    if (proofs_answered(&s->proofs, kind, sent, now))
        spread_deadline(s, now,
                        proofs_deadline(&s->proofs, now) == DEADLINE_LASTING ? NEWS_PROVED
                                                                             : NEWS_DEADLINE_MOVED);
    if (step)
        proof_chain_run(s);
}

static void on_chain_answered(struct request *r, const struct store_reply *reply)
{
    zkl_session *s = r->context;
    const bool proves_less =
        reply->rc < STORE_BAD && proof_by_answer(r->proves, reply->rc) != r->proves;

    if (proves_less && g_hash_table_add(s->logged, g_strdup(RENEWAL_PATH)))
        log_line(s->log, ZKL_LOG_WARN, "no-renewal", RENEWAL_PATH,
                 "somebody has made %s, and a server refuses to set it: no grant can be renewed",
                 RENEWAL_PATH);
    if ((reply->rc == STORE_UNKNOWN || reply->rc == STORE_BAD || proves_less) &&
        r->connection == s->connection)
        proofs_failed(&s->proofs, r->proves);
}

/* Sends a step of the chain at once, or not at all: a step that is late would prove too much.
 * Returns whether it was sent. */
static bool send_proof_step(zkl_session *s, enum proof_wish wish)
{
    static const struct {
        enum store_kind kind;
        const char *path;
        enum proof_kind proves;
    } steps[] = {
        [PROOF_SEND_ANCHOR] = {STORE_GET, SYSTEM_PATH, PROOF_ANCHOR},
        [PROOF_SEND_SYNC] = {STORE_SYNC, SYSTEM_PATH, PROOF_SYNC},
        /* a write, by the quorum, that changes and wakes nothing */
        [PROOF_SEND_WRITE] = {STORE_SET, RENEWAL_PATH, PROOF_RENEWAL},
        [PROOF_SEND_KEEP] = {STORE_SYNC, SYSTEM_PATH, PROOF_KEEP},
    };
    struct request *r =
        request_new(steps[wish].kind, g_strdup(steps[wish].path), on_chain_answered, s);

    r->proves = steps[wish].proves;
    r->once = true;
    r->what.version = INT_MAX; /* so that even a node that somebody has made is not changed */
    enum proof_kind proves = r->proves;
    proofs_sent(&s->proofs, proves, clock_now());
    if (request_try(s, r))
        return true;
    proofs_failed(&s->proofs, proves);
    return false;
}

static void proof_chain_on_time(void *data)
{
    proof_chain_run(data);
}

void proof_chain_run(zkl_session *s)
{
    const struct instant now = clock_now();

    if (!s->up || s->closing)
        return;
    proofs_use(&s->proofs,
               proofs_need(participants_need_deadline(s), participants_are_busy(s),
                           !instant_reached(now, s->warm_until), s->entered),
               now);
    if (s->proofs.need == PROOF_COLD) {
        timers_cancel(&s->proof_timer);
        return;
    }
    for (enum proof_wish wish; (wish = proofs_want(&s->proofs, now)) != PROOF_NOTHING;) {
        if (!send_proof_step(s, wish))
            break;
    }
    if (s->proofs.need == PROOF_HOT && proofs_overdue(&s->proofs, now))
        participants_tell(s, NEWS_SUSPECT);
    const int64_t wait = proofs_wait(&s->proofs, now);
    timers_arm(s->timers, &s->proof_timer, now.boot + MAX(wait, CLOCK_MS), proof_chain_on_time, s);
}

/* Whether the server gets what the leader orders from the leader itself. An observer may get it
 * from a follower, if it is of 3.5 or later: then it has the node, whose data name it as an
 * observer. */
static bool shows_direct(const zkl_session *s, const struct store_reply *reply)
{
    const int server = s->made == s->connection ? (int)((uint64_t)s->id >> 56) : ENSEMBLE_ANY;

    return reply->rc == STORE_NONODE ||
           (reply->rc == STORE_OK &&
            !ensemble_observes(reply->data, (size_t)reply->length, server));
}

/* Warns if no grant can be renewed in time on this server. */
static void warn_of_tick(zkl_session *s)
{
    const struct proofs *p = &s->proofs;

    if (proofs_can_last(p->timeout, p->tick, p->drift_permille, p->relayed))
        return;
    if (proofs_can_last(p->timeout, p->tick, p->drift_permille, false))
        log_line(s->log, ZKL_LOG_WARN, "no-renewal", NULL,
                 "this server may be an observer that a follower feeds, where a session timeout of "
                 "%d ms is too short: no grant can be renewed in time. Set tick_ms, or a longer "
                 "one",
                 s->timeout_ms);
    else
        log_line(s->log, ZKL_LOG_WARN, "no-renewal", NULL,
                 "tick_ms or drift_permille is too large for %d ms, the session timeout that the "
                 "servers allow: no grant can be renewed in time",
                 s->timeout_ms);
}

static void ask_config(zkl_session *s, bool watch);

/* Learns how this connection can be proved. Tells the store which servers the ensemble has, and
 * sets a watch. If there is one server for good, no data come, so no watch is left. */
static void on_config(struct request *r, const struct store_reply *reply)
{
    zkl_session *s = r->context;
    const bool alone = reply->rc == STORE_OK && reply->length == 0;

    if (reply->rc == STORE_OK && !alone && !s->fixed_servers && s->ops->hear_config &&
        r->connection == s->connection) {
        s->hears_ensemble |= r->what.watch;
        s->ops->hear_config(s->store, reply->data, reply->length);
        if (!s->hears_ensemble)
            ask_config(s, true);
    }
    if (r->connection == s->connection && alone)
        proofs_alone(&s->proofs);
    else if (r->connection == s->connection && shows_direct(s, reply))
        proofs_direct(&s->proofs);
    if (reply->rc == STORE_OK && !alone && !r->what.watch)
        warn_of_tick(s);
    proof_chain_run(s);
}

/* Reads the ensemble's configuration, which shows which rule proves the session on this connection,
 * and which servers there are. */
static void ask_config(zkl_session *s, bool watch)
{
    struct request *r = request_new(STORE_GET, g_strdup(CONFIG_PATH), on_config, s);

    r->once = true;
    r->what.watch = watch;
    request_try(s, r);
}

void proof_chain_watch_fired(zkl_session *s, const char *path)
{
    if (!s->hears_ensemble || strcmp(path, CONFIG_PATH) != 0)
        return;
    s->hears_ensemble = false;
    ask_config(s, true);
}

void proof_chain_connected(zkl_session *s)
{
    spread_deadline(s, clock_now(), NEWS_DEADLINE_MOVED);
    ask_config(s, false);
}
