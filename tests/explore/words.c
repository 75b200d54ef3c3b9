/* The words of a grant and of its tenure, when a thread is stopped at any of its accesses to them,
 * while another does all that it does, or is stopped as well while a third does so. One of them at
 * most changes something: such calls are made with the monitor held. */
#include <stdio.h>

#include "lib/grant/grant.h"

/* ms: a deadline that the clock passes, and one that it does not. */
enum { NEAR_MS = 1000, PASSED_MS = 2000, FAR_MS = 9000 };
enum { LEVELS = 3 };

/* When the clock passes: while which of them is stopped, and on which side of what the next does.
 */
enum pass { PASS_NEVER, PASS_BEFORE_1, PASS_BEHIND_1, PASS_BEFORE_2, PASS_BEHIND_2, PASSES };

static zkl_session session;
static struct tenure *t;
static zkl_grant *g;
static int64_t now_ms, limit_ms; /* the limit is what is proved */

/* What has ended, as somebody was told. */
struct end {
    zkl_state state; /* ZKL_HELD: nobody was */
    zkl_loss loss;
};
static struct end grant_end_told, word_end_told;
static const char *broken;

struct call {
    const char *name;
    bool changes;
    void (*fn)(void);
};

static struct level {
    const struct call *call;
    int stop;         /* at that access of it */
    int accesses;     /* so far */
    bool stopped;     /* it was */
    bool in_time;     /* the clock was, when it was read last */
    bool grant_ended; /* as somebody was told before the call, or before that reading */
    bool word_ended;
} levels[LEVELS];
static int depth, levels_count;
static enum pass pass;
static long runs;

static void hold(bool right, const char *what)
{
    if (!right && !broken)
        broken = what;
}

static struct instant at(int64_t ms)
{
    return (struct instant){(ms + 5000000) * CLOCK_MS, (ms + 1000000) * CLOCK_MS};
}

/* ---- who is stopped ---- */

static bool has_ended(const struct end *told)
{
    return told->state != ZKL_HELD;
}

static void pass_at(enum pass when)
{
    if (pass == when)
        now_ms = PASSED_MS;
}

static void run_level(int level)
{
    struct level *l = &levels[level];

    depth = level;
    l->accesses = 0;
    l->stopped = false;
    l->grant_ended = has_ended(&grant_end_told);
    l->word_ended = has_ended(&word_end_told);
    l->call->fn();
}

void words_access(void)
{
    const int level = depth;
    struct level *l = &levels[level];

    if (l->accesses++ != l->stop || level + 1 >= levels_count)
        return;
    l->stopped = true;
    pass_at(level == 0 ? PASS_BEFORE_1 : PASS_BEFORE_2);
    run_level(level + 1);
    pass_at(level == 0 ? PASS_BEHIND_1 : PASS_BEHIND_2);
    depth = level;
}

/* Before it, too, a thread may be stopped. An answer by it must be true behind it. */
static struct instant read_clock(void)
{
    words_access();
    levels[depth].in_time = now_ms < limit_ms;
    levels[depth].grant_ended = has_ended(&grant_end_told);
    levels[depth].word_ended = has_ended(&word_end_told);
    return at(now_ms);
}

/* ---- what they are told ---- */

static void told_end(struct end *told, zkl_state state, zkl_loss loss)
{
    hold(told->state == ZKL_HELD || told->state == state, "two ends");
    hold(told->loss == ZKL_LOSS_NONE || loss == ZKL_LOSS_NONE || told->loss == loss, "two losses");
    told->state = state;
    if (loss != ZKL_LOSS_NONE)
        told->loss = loss;
}

static void told_of_word(zkl_state state, zkl_loss loss)
{
    if (state >= ZKL_LOST) {
        told_end(&word_end_told, state, loss);
        return;
    }
    hold(!levels[depth].word_ended, "a lost word is valid");
    hold(levels[depth].in_time, "a word is valid behind its deadline");
}

static void told_of_grant(zkl_state state, zkl_loss loss)
{
    if (state >= ZKL_LOST) {
        told_end(&grant_end_told, state, loss);
        return;
    }
    hold(!levels[depth].grant_ended, "a grant that has ended is valid");
    hold(levels[depth].in_time, "a grant is valid behind its deadline");
}

/* ---- what they do ---- */

static void ask_state(void)
{
    told_of_grant(zkl_grant_state(g), ZKL_LOSS_NONE);
}

static void ask_left(void)
{
    if (zkl_grant_remaining_ms(g) > 0)
        told_of_grant(ZKL_HELD, ZKL_LOSS_NONE);
}

static void ask_loss(void)
{
    const zkl_loss loss = zkl_grant_loss(g);

    if (loss != ZKL_LOSS_NONE)
        told_of_grant(ZKL_LOST, loss);
}

static void ask_word(void)
{
    int64_t now;

    told_of_word(validity_state(&t->validity, &now), ZKL_LOSS_NONE);
}

static void view_word(void)
{
    const struct validity_view view = validity_read(&t->validity);

    hold((view.left > 0) == (view.state < ZKL_LOST), "a view that is not one");
    told_of_word(view.state, view.loss);
}

static void prove(void)
{
    const int64_t before_ms = limit_ms;

    if (now_ms < limit_ms)
        limit_ms = FAR_MS;
    if (grant_move_deadline(t, at(FAR_MS), true))
        return;
    limit_ms = before_ms;
    told_of_word(ZKL_LOST, ZKL_LOSS_NONE);
}

/* By what it has written before the word, others may find it lost, and refuse it. */
static void take_back(void)
{
    const bool taken = grant_move_deadline(t, at(NEAR_MS), false);

    limit_ms = NEAR_MS;
    if (!taken)
        told_of_word(ZKL_LOST, ZKL_LOSS_NONE);
}

static void doubt(void)
{
    if (!validity_suspect(&t->validity))
        told_of_word(ZKL_LOST, ZKL_LOSS_NONE);
}

static void lose(void)
{
    if (validity_lose(&t->validity, LOSS_EXPIRED))
        told_of_word(ZKL_LOST, ZKL_LOSS_EXPIRED);
    else
        told_of_word(ZKL_LOST, ZKL_LOSS_NONE);
}

static void release(void)
{
    const bool owned = grant_disown(g);

    hold(!owned || (levels[depth].in_time && !levels[depth].word_ended),
         "what is lost is released");
    told_of_grant(owned ? ZKL_RELEASED : ZKL_LOST, ZKL_LOSS_NONE);
}

static const struct call calls[] = {
    {"state", false, ask_state},    {"left", false, ask_left},  {"loss", false, ask_loss},
    {"word", false, ask_word},      {"view", false, view_word}, {"prove", true, prove},
    {"take back", true, take_back}, {"doubt", true, doubt},     {"lose", true, lose},
    {"release", true, release},
};

/* ---- one run ---- */

static void begin(int64_t deadline_ms)
{
    static const struct tenure_ops ops = {.release = NULL};

    levels_count = 0;
    depth = 0;
    levels[0].accesses = 0;
    now_ms = 0;
    limit_ms = deadline_ms;
    session.up = true;
    session.proofs.deadline = at(deadline_ms);
    grant_end_told = word_end_told = (struct end){.state = ZKL_HELD};
    t = tenure_new(&session, &ops, (struct contender *)(void *)&session, "/l/n", "who", 5);
    g = grant_new(&t, 1, NULL, NULL);
}

/* Nobody is stopped any more: all that is asked says the same, and what was told before. */
static void check_behind(void)
{
    const zkl_state state = zkl_grant_state(g);
    const zkl_loss loss = zkl_grant_loss(g);
    const zkl_state word = validity_last(&t->validity);
    const struct validity_view view = validity_read(&t->validity);

    hold((loss != ZKL_LOSS_NONE) == (state == ZKL_LOST), "a loss without a reason");
    hold((zkl_grant_remaining_ms(g) > 0) == (state < ZKL_LOST), "a grant without time");
    hold(!has_ended(&word_end_told) || word == ZKL_LOST, "a loss was taken back");
    levels[0].grant_ended = has_ended(&grant_end_told);
    levels[0].word_ended = has_ended(&word_end_told);
    levels[0].in_time = now_ms < limit_ms;
    told_of_grant(state, loss);
    told_of_word(view.state, view.loss);
    hold(view.state < ZKL_LOST || now_ms >= limit_ms || view.loss == ZKL_LOSS_EXPIRED,
         "lost before its deadline");
    hold(view.state >= ZKL_LOST || view.left == (limit_ms - now_ms) * CLOCK_MS, "another deadline");
}

static void end(void)
{
    depth = 0;
    levels_count = 0;
    check_behind();
    grant_detach(t);
    grant_unref(g);
    tenure_unref(t);
    runs++;
}

static void tell_broken(int64_t deadline_ms)
{
    printf("%s: deadline %d, clock passes %d:", broken, (int)deadline_ms, (int)pass);
    for (int i = 0; i < LEVELS; i++)
        printf(" %s stopped at %d,", levels[i].call->name, levels[i].stop);
    printf("\n");
}

/* The first two are stopped there; false: something has broken. */
static bool run_once(int64_t deadline_ms, int first, int second)
{
    levels[0].stop = first;
    levels[1].stop = second;
    levels[1].stopped = false;
    begin(deadline_ms);
    levels_count = LEVELS;
    run_level(0);
    end();
    if (broken)
        tell_broken(deadline_ms);
    return !broken;
}

/* Each place of the first, and of the second each in that. */
static bool run_all(int64_t deadline_ms)
{
    for (int first = 0;; first++) {
        for (int second = 0;; second++) {
            if (!run_once(deadline_ms, first, second))
                return false;
            if (!levels[0].stopped)
                return true;
            if (!levels[1].stopped)
                break;
        }
    }
}

static bool run_calls(const struct call *first, const struct call *second, const struct call *third)
{
    levels[0].call = first;
    levels[1].call = second;
    levels[2].call = third;
    levels[2].stop = -1;
    for (pass = PASS_NEVER; pass < PASSES; pass++) {
        if (!run_all(NEAR_MS) || !run_all(FAR_MS))
            return false;
    }
    return true;
}

int main(void)
{
    const int count = (int)(sizeof calls / sizeof calls[0]);
    int passed = 0, failed = 0;

    clock_now = read_clock;
    session.refs = 1; /* more than all that refers to it */
    for (int i = 0; i < count * count * count && failed == 0; i++) {
        const struct call *c[] = {&calls[i / count / count], &calls[i / count % count],
                                  &calls[i % count]};
        if (c[0]->changes + c[1]->changes + c[2]->changes > 1)
            continue;
        if (run_calls(c[0], c[1], c[2]))
            passed++;
        else
            failed++;
    }
    printf("%ld runs\n%d passed, %d failed, 0 skipped\n", runs, passed, failed);
    return failed ? 1 : 0;
}
