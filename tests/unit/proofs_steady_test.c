/* The chain of proofs kept running in virtual time: what it costs and what it leaves. */
#include "proofs_clock.h"
#include "runner.h"

#include <stdio.h>

TEST_SUITE(proofs_steady);

struct steady {
    struct proofs proofs;
    int64_t now;     /* ns since the beginning */
    int64_t latency; /* of every request */
    int64_t every;   /* other requests of the user, 0: none */
    struct {
        bool out;
        int64_t sent;
    } request[PROOF_WRITE + 1];
    int64_t user_next;
    unsigned sent[PROOF_WRITE + 1];
    unsigned asked;
    unsigned overslept; /* something was wanted while proofs_wait() let us sleep */
    int64_t least_left; /* right before a proof */
};

static struct instant at_ns(int64_t ns)
{
    return (struct instant){BOOT_BASE + ns, RAW_BASE + ns};
}

static void answer(struct steady *s, enum proof_kind kind, int64_t sent)
{
    int64_t left = instant_left(at_ns(s->now), s->proofs.deadline);
    if (proofs_answered(&s->proofs, kind, at_ns(sent), at_ns(s->now)) && left < s->least_left &&
        s->now > 10000 * MS) /* once it is steady */
        s->least_left = left;
}

static void send_wish(struct steady *s, enum proof_wish wish)
{
    enum proof_kind kind = wish == PROOF_SEND_ANCHOR ? PROOF_ANCHOR
                           : wish == PROOF_SEND_SYNC ? PROOF_SYNC
                                                     : PROOF_RENEWAL;
    REQUIRE(!s->request[kind].out); /* one of a kind at a time */
    s->request[kind].out = true;
    s->request[kind].sent = s->now;
    s->sent[kind]++;
    proofs_sent(&s->proofs, kind, at_ns(s->now));
}

/* Goes on to the next thing that happens. */
static void next(struct steady *s)
{
    int64_t wait = proofs_wait(&s->proofs, at_ns(s->now));
    int64_t until = s->now + wait;
    int kind = -1;
    enum proof_wish wish = proofs_want(&s->proofs, at_ns(until - 1));
    s->overslept += wait <= 0 || wish == PROOF_SEND_SYNC || wish == PROOF_SEND_WRITE;
    for (int k = 0; k <= PROOF_WRITE; k++)
        if (s->request[k].out && s->request[k].sent + s->latency < until) {
            until = s->request[k].sent + s->latency;
            kind = k;
        }
    if (s->every && s->user_next < until) {
        s->now = s->user_next;
        s->user_next += s->every;
        answer(s, s->user_next / s->every % 2 ? PROOF_ANCHOR : PROOF_WRITE, s->now - s->latency);
        return;
    }
    s->now = until;
    if (kind >= 0) {
        s->request[kind].out = false;
        answer(s, (enum proof_kind)kind, s->request[kind].sent);
    }
}

static void run(struct steady *s, int64_t timeout, int64_t tick, int64_t seconds)
{
    s->least_left = INT64_MAX;
    proofs_init(&s->proofs, tick * MS, 100);
    proofs_created(&s->proofs, at_ns(0), timeout * MS);
    while (s->now < seconds * 1000 * MS && s->asked < 20000000) {
        enum proof_wish wish = proofs_want(&s->proofs, at_ns(s->now));
        s->asked++;
        if (wish == PROOF_NOTHING)
            next(s);
        else
            send_wish(s, wish);
        if (proofs_deadline(&s->proofs, at_ns(s->now)) != DEADLINE_LASTING ||
            proofs_overdue(&s->proofs, at_ns(s->now))) {
            runner_fail(__FILE__, __LINE__, "lost at %lld ms", (long long)(s->now / MS));
            return;
        }
    }
    printf("  S %lld ms, tick %lld ms: %.2f reads, %.2f syncs, %.2f writes per s, %lld ms left\n",
           (long long)timeout, (long long)tick, s->sent[PROOF_ANCHOR] / (double)seconds,
           s->sent[PROOF_SYNC] / (double)seconds, s->sent[PROOF_RENEWAL] / (double)seconds,
           (long long)(s->least_left / MS));
}

TEST_CASE(cost_and_remaining_time)
{
    struct steady s = {.latency = 2 * MS};
    run(&s, 10000, 2000, 1000);
    CHECK(s.sent[PROOF_ANCHOR] <= 2000);
    CHECK(s.sent[PROOF_SYNC] <= 601 && s.sent[PROOF_SYNC] >= 500);
    CHECK(s.sent[PROOF_RENEWAL] <= 601 && s.sent[PROOF_RENEWAL] >= 500);
    CHECK(s.least_left >= 5400 * MS);
    CHECK(s.asked < 20000);  /* it sleeps between */
    CHECK(s.overslept <= 1); /* the very first round is found by polling */
}

TEST_CASE(slow_servers)
{
    struct steady s = {.latency = 100 * MS};
    run(&s, 10000, 2000, 1000);
    CHECK(s.least_left >= 4800 * MS);
}

TEST_CASE(other_timeouts)
{
    static const struct {
        int64_t timeout, tick, left;
    } rows[] = {{4000, 2000, 700}, {4000, 1000, 1500},  {30000, 2000, 15000},
                {10000, 0, 2600},  {10000, 6000, 1000}, {1000, 200, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct steady s = {.latency = 2 * MS};
        run(&s, rows[i].timeout, rows[i].tick, 300);
        CHECK(s.least_left > rows[i].left * MS);
    }
}

/* Thousands of answers a second must not push out the anchors that are old enough. */
TEST_CASE(busy_session)
{
    struct steady s = {.latency = 2 * MS, .every = MS / 5, .user_next = 3 * MS};
    run(&s, 10000, 2000, 100);
    CHECK(s.least_left >= 5400 * MS);
    CHECK(s.sent[PROOF_RENEWAL] <= 61);
}

TEST_CASE(standing_alone)
{
    struct steady s = {.latency = 2 * MS, .least_left = INT64_MAX};
    proofs_init(&s.proofs, 2000 * MS, 100);
    proofs_created(&s.proofs, at_ns(0), 10000 * MS);
    proofs_alone(&s.proofs);
    while (s.now < 1000000 * MS && s.asked++ < 100000) {
        enum proof_wish wish = proofs_want(&s.proofs, at_ns(s.now));
        if (wish == PROOF_NOTHING)
            next(&s);
        else
            send_wish(&s, wish);
        REQUIRE(proofs_deadline(&s.proofs, at_ns(s.now)) == DEADLINE_LASTING);
    }
    CHECK(s.asked < 20000);
    CHECK(s.sent[PROOF_RENEWAL] <= 601);
    CHECK(s.sent[PROOF_ANCHOR] == 0 &&
          s.sent[PROOF_SYNC] == 0); /* each write is a proof by itself */
    CHECK(s.least_left >= 7000 * MS);
}
