/* A contender of a semaphore, from its first list to its admission: are so many permits free, and
 * who else is to hear of it? docs/design/permits.md has the argument. */
#include "attempt_steps.h"
#include "rule.h"

void attempt_count_leases(struct attempt *c, int32_t limit)
{
    c->counts = true;
    c->has_limit = true;
    c->permits = 1;
    c->limit = limit;
}

/* The limit is read first: where both are of one instant, neither is older than the request. */
static void look(struct attempt *c, struct actions *out, bool limit)
{
    if (limit) {
        attempt_ask(c, out, ACT_READ_LIMIT);
        out->list[out->count - 1].watch = c->first;
        attempt_act(out, ACT_LIST)->tag = c->tag;
    } else {
        attempt_ask(c, out, ACT_LIST);
    }
    out->list[out->count - 1].watch = c->first;
}

static void look_as_first(struct attempt *c, struct actions *out)
{
    c->first = true;
    look(c, out, !c->counts && !c->limit_watched);
}

bool attempt_lacks_limit(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (c->rule != RULE_LEASE || c->counts || c->limit_zxid == ev->data_zxid)
        return false;
    if (attempt_next_round(c, out))
        look(c, out, true);
    return true;
}

void attempt_learn_limit(struct attempt *c, const struct event *ev)
{
    c->limit = ev->limit;
    c->limit_zxid = ev->data_zxid;
    c->limit_watched = c->first;
}

/* Where there is no directory, the list says so as well. */
void attempt_limit_read(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_NONODE)
        return;
    if (ev->answer != ANSWER_OK)
        attempt_fail_answer(c, out, ev->answer);
    else if (ev->limit < 1)
        attempt_fail(c, out, ATTEMPT_NOLIMIT);
    else
        attempt_learn_limit(c, ev);
}

/* Of those behind, one that saw us as not admitted waits for our node to change. While it holds,
 * only who asks for it hears of others. */
static void admit(struct attempt *c, struct actions *out, const struct place *place)
{
    attempt_unwatch_limit(c, out);
    c->first = false;
    if (c->others == OTHERS_NONE)
        c->others = OTHERS_UNKNOWN;
    if (place->behind && !c->counts)
        attempt_act(out, ACT_TOUCH);
    attempt_move(c, ST_CLAIMING);
}

/* The predecessor may have been admitted before one came whose number is used up. */
static void wait_in_line(struct attempt *c, const struct event *ev, struct actions *out,
                         const struct place *place)
{
    if (!c->first && !c->counts && !place->exhausted && place->permits_ahead > (uint64_t)c->limit) {
        attempt_ask(c, out, ACT_WATCH);
        attempt_wait_for(c, out, place->predecessor);
    } else if (!c->first || (!c->counts && !c->limit_watched)) {
        look_as_first(c, out);
    } else if (!ev->watched) {
        attempt_fail(c, out, ATTEMPT_LIMIT);
    } else {
        c->waited = true;
        attempt_move(c, ST_FIRST);
    }
}

/* With the own ones. Where all children count, so does one that came later. */
static uint64_t permits_taken(const struct attempt *c, const struct event *ev,
                              const struct place *place)
{
    return c->counts ? ev->count : place->permits_ahead + c->permits;
}

void attempt_take_place(struct attempt *c, const struct event *ev, struct actions *out,
                        const struct place *place)
{
    if ((uint64_t)c->permits > (uint64_t)c->limit)
        attempt_fail(c, out, ATTEMPT_PERMITS);
    else if (permits_taken(c, ev, place) <= (uint64_t)c->limit)
        admit(c, out, place);
    else if (c->try_only)
        attempt_fail(c, out, ATTEMPT_BUSY);
    else
        wait_in_line(c, ev, out, place);
}

/* Whoever is admitted touches its node; of one that is older than the limit, it is not known
 * whether it was admitted by an earlier one, and it may never do so. */
static bool may_be_admitted(const struct attempt *c, const struct event *ev)
{
    return ev->kind == EV_PRED_FIRED || ev->version > 0 || ev->czxid < c->limit_zxid;
}

void attempt_step_in_line(struct attempt *c, const struct event *ev, struct actions *out)
{
    const bool gone = ev->kind == EV_PRED_FIRED ? ev->gone : ev->answer == ANSWER_NONODE;

    if (ev->kind != EV_PRED_FIRED && ev->kind != EV_WATCHED)
        return;
    if (gone) {
        c->watching = false;
        look(c, out, false);
        attempt_move(c, ST_LISTING);
    } else if (ev->kind == EV_WATCHED && ev->answer != ANSWER_OK) {
        attempt_fail_answer(c, out, ev->answer);
    } else if (may_be_admitted(c, ev)) {
        attempt_unwatch(c, out);
        look_as_first(c, out);
        attempt_move(c, ST_LISTING);
    }
}

void attempt_step_first(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->kind != EV_CHILDREN_FIRED && ev->kind != EV_LIMIT_FIRED)
        return;
    look_as_first(c, out);
    attempt_move(c, ST_LISTING);
}
