/* Adversaries that broke simpler rules. A deadline must not be later than the earliest moment at
 * which the servers may end the session: the last touch that the leader heard of + timeout. */
#include "proofs_clock.h"
#include "runner.h"
#include "seeded.h"

#include <stddef.h>

TEST_SUITE(proofs_attack);

struct attack_step {
    enum proof_kind kind;
    int64_t sent, answered; /* answered 0: never */
    bool heard;             /* the leader heard of this touch */
};

struct attack {
    const char *what;
    int64_t timeout, tick;
    struct attack_step steps[8];
    int64_t naive; /* what the simpler rule believes */
};

/* S 4 s, tick 1 s: margin 0.45 s, relay 0.6 s. */
static const struct attack attacks[] = {
    {"one write + timeout: stalled 0.6 S, one write succeeds, cut",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true}, {PROOF_WRITE, 2500, 2505, false}},
     2500 + 3550},
    {"the same by the renewal itself",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true}, {PROOF_RENEWAL, 2500, 2505, false}},
     2500 + 3550},
    {"one sync + timeout",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true}, {PROOF_SYNC, 2500, 2505, false}},
     2500 + 3550},
    {"one-step lag by writes: leader paused between the two, its answer's way cut before it "
     "resumes",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_WRITE, 2500, 2505, false},
      {PROOF_WRITE, 3110, 3500, false}},
     2500 + 3550},
    {"one-step lag by the chain: its third step finds no leader",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_WRITE, 2500, 2505, false},
      {PROOF_SYNC, 3110, 3500, false},
      {PROOF_RENEWAL, 3501, 0, false}},
     2500 + 3550},
    {"the follower alone answers pings and reads",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_ANCHOR, 1300, 1301, false},
      {PROOF_ANCHOR, 2600, 2601, false},
      {PROOF_ANCHOR, 3400, 3401, false}},
     3400 + 3550},
    {"a stall inside the chain, before the sync is sent",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_ANCHOR, 2500, 2501, false},
      {PROOF_SYNC, 2502, 2503, false},
      {PROOF_RENEWAL, 2504, 2505, false}},
     2500 + 3550},
    {"Debian's servers: tick 2 s",
     4000,
     2000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_WRITE, 2500, 2505, false},
      {PROOF_SYNC, 3600, 3601, false},
      {PROOF_RENEWAL, 3602, 3603, false}},
     2500 + 3550},
};

static void expect_attack_fails(const struct attack *a)
{
    struct proofs p;
    int64_t heard = 0; /* the creation was */
    proofs_init(&p, a->tick * MS, 100);
    proofs_created(&p, at(0), a->timeout * MS);
    for (size_t i = 0; i < 8 && a->steps[i].sent; i++) {
        const struct attack_step *s = &a->steps[i];
        if (s->heard)
            heard = s->sent;
        if (s->answered)
            request(&p, s->kind, s->sent, s->answered);
        else
            proofs_sent(&p, s->kind, at(s->sent));
    }
    int64_t earliest_end = heard + a->timeout;
    if (!CHECK(a->naive > earliest_end) || !CHECK(deadline_ms(&p) <= earliest_end))
        runner_fail(__FILE__, __LINE__, "%s: naive %lld, ours %lld, earliest end %lld", a->what,
                    (long long)a->naive, (long long)deadline_ms(&p), (long long)earliest_end);
}

TEST_CASE(known_attacks)
{
    for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
        expect_attack_fails(&attacks[i]);
}

/* A session on a follower. The leader asks it for its touches at most every relay period; the
 * adversary may cut it off at any time, the worst being right after a proof. Times in us. */
struct follower {
    uint64_t seed, random;
    struct proofs proofs;
    int64_t now, timeout, tick;
    int64_t touched, heard; /* send times: newest at the follower, newest at the leader */
    int64_t ping;           /* when the leader asks next */
    int64_t handshake; /* when sent; the leader hears of it at the latest right before a write */
    unsigned proved, naive_wrong;
};

static int64_t between(struct follower *f, int64_t low, int64_t high)
{
    return low + seeded_below(&f->random, (uint32_t)(high - low + 1));
}

static void pass(struct follower *f, int64_t us)
{
    for (int64_t until = f->now + us;;) {
        if (f->ping > until) {
            f->now = until;
            return;
        }
        f->now = f->ping;
        f->heard = f->touched > f->heard ? f->touched : f->heard;
        f->ping += between(f, f->tick / 2 - f->tick / 20, f->tick * 6 / 10); /* 20 % late at most */
    }
}

static struct instant at_us(int64_t us)
{
    return (struct instant){BOOT_BASE + us * 1000, RAW_BASE + us * 1000};
}

static void pass_at_random(struct follower *f)
{
    pass(f, seeded_below(&f->random, 20) ? between(f, 10, 3000) : between(f, 0, f->timeout));
}

static bool send_one(struct follower *f, enum proof_kind kind)
{
    struct instant sent = at_us(f->now);
    int64_t sent_us = f->now;
    proofs_sent(&f->proofs, kind, sent);
    pass_at_random(f); /* to the follower, or a stall right here */
    f->touched = sent_us;
    pass(f, between(f, 10, 2000)); /* to the leader */
    if (kind == PROOF_WRITE || kind == PROOF_RENEWAL)
        f->heard = f->handshake > f->heard ? f->handshake : f->heard;
    int64_t heard = f->heard;
    pass_at_random(f); /* and back */
    bool moved = proofs_answered(&f->proofs, kind, sent, at_us(f->now));
    if (kind == PROOF_WRITE || kind == PROOF_RENEWAL)
        f->naive_wrong += sent_us + f->timeout - f->timeout / 10 - 50000 > heard + f->timeout;
    if (!moved)
        return true;
    f->proved++;
    int64_t end = at_us(heard + f->timeout).boot;
    if (f->proofs.deadline.boot > end)
        runner_fail(__FILE__, __LINE__, "seed %llu: at %lld us the deadline is %lld us too late",
                    (unsigned long long)f->seed, (long long)f->now,
                    (long long)(f->proofs.deadline.boot - end) / 1000);
    return f->proofs.deadline.boot <= end;
}

/* To one that has heard nothing of the session yet; completed by the answer to an older handshake,
 * perhaps. */
static void reconnect(struct follower *f)
{
    proofs_disconnected(&f->proofs);
    pass_at_random(f);
    f->handshake = f->now;
    f->touched = 0;
    pass_at_random(f);
    proofs_reconnected(&f->proofs, f->timeout * 1000);
}

static bool run_follower(struct follower *f)
{
    static const enum proof_kind kinds[] = {PROOF_ANCHOR, PROOF_SYNC, PROOF_RENEWAL, PROOF_WRITE};
    proofs_init(&f->proofs, f->tick * 1000, 100);
    proofs_created(&f->proofs, at_us(0), f->timeout * 1000);
    for (int i = 0; i < 100; i++) {
        enum proof_wish wish = proofs_want(&f->proofs, at_us(f->now));
        bool ok = true;
        if (seeded_below(&f->random, 16) == 0)
            reconnect(f);
        else if (wish != PROOF_NOTHING)
            ok = send_one(f, kinds[wish - PROOF_SEND_ANCHOR]);
        else if (seeded_below(&f->random, 3) == 0)
            ok = send_one(f, PROOF_WRITE); /* the user's own */
        else
            pass(f, proofs_wait(&f->proofs, at_us(f->now)) / 1000 + 1);
        if (!ok)
            return false;
    }
    return true;
}

TEST_CASE(random_stalls_on_a_follower)
{
    unsigned proved = 0, naive_wrong = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct follower f = {.seed = seed, .random = seed, .timeout = 4000000};
        f.tick = seed % 2 ? 2000000 : 500000;
        f.ping = between(&f, 0, f.tick / 2);
        if (!run_follower(&f))
            return;
        proved += f.proved;
        naive_wrong += f.naive_wrong;
    }
    CHECK(proved > 5000);
    CHECK(naive_wrong > 500); /* or the adversary has no teeth */
}
