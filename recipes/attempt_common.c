/* The table of moves, and what every phase does in the same way. */
#include "attempt_steps.h"

#include <assert.h>

#include "rule.h"

/* A directory that vanishes this often in one attempt is somebody's bug. */
enum { ROUNDS_MAX = 100 };

static const struct {
    const char *name;
    uint32_t next;
} table[ST_COUNT] = {
    [ST_IDLE] = {"idle", BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_REENTERING] = {"re-entering", BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_CREATING] = {"creating", BIT(ST_REENTERING) | BIT(ST_PARENTS) | BIT(ST_SETTLING) |
                                     BIT(ST_LISTING) | BIT(ST_RESETTING) | BIT(ST_LEAVING) |
                                     BIT(ST_DONE)},
    [ST_PARENTS] = {"parents", BIT(ST_REENTERING) | BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_SETTLING] = {"settling", BIT(ST_REENTERING) | BIT(ST_CREATING) | BIT(ST_ADOPTING) |
                                     BIT(ST_RESETTING) | BIT(ST_LEAVING) | BIT(ST_DONE)},
    [ST_ADOPTING] = {"adopting", BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_DONE)},
    [ST_LISTING] = {"listing", BIT(ST_REENTERING) | BIT(ST_WAITING) | BIT(ST_CLAIMING) |
                                   BIT(ST_HOLDING) | BIT(ST_FIRST) | BIT(ST_DONE)},
    [ST_FIRST] = {"first in line", BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_DONE)},
    [ST_WAITING] = {"waiting", BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_SUCCEEDING) |
                                   BIT(ST_PROVING) | BIT(ST_CLAIMING) | BIT(ST_HOLDING) |
                                   BIT(ST_DONE)},
    [ST_SUCCEEDING] = {"succeeding",
                       BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_PROVING) | BIT(ST_DONE)},
    [ST_PROVING] = {"proving",
                    BIT(ST_REENTERING) | BIT(ST_CLAIMING) | BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_CLAIMING] = {"claiming",
                     BIT(ST_REENTERING) | BIT(ST_PROVING) | BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_RESETTING] = {"resetting", BIT(ST_REENTERING) | BIT(ST_DONE)},
    [ST_HOLDING] = {"holding", BIT(ST_LAPSED) | BIT(ST_DONE)},
    [ST_LAPSED] = {"lapsed", BIT(ST_DONE)},
    [ST_LEAVING] = {"leaving", BIT(ST_DONE)},
    [ST_DONE] = {"done", 0},
};

const char *attempt_state_name(enum attempt_state state)
{
    return state < ST_COUNT ? table[state].name : "?";
}

bool attempt_may_move(enum attempt_state from, enum attempt_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

/* Of a semaphore somebody waits if together they ask for more than there is. */
static bool others_wait(const struct attempt *c, const struct event *ev, const struct place *place)
{
    if (c->rule == RULE_LEASE && c->counts)
        return ev->count > (size_t)c->limit;
    if (c->rule != RULE_LEASE)
        return place->behind || place->ahead > 0;
    return place->permits_ahead + c->permits + place->permits_behind > (uint64_t)c->limit;
}

enum attempt_others attempt_others_in(const struct attempt *c, const struct event *ev,
                                      const struct place *place)
{
    const bool known = c->rule != RULE_LEASE || c->counts || c->limit_zxid == ev->data_zxid;

    return !known                      ? OTHERS_UNKNOWN
           : others_wait(c, ev, place) ? OTHERS_WAIT
           : ev->watched               ? OTHERS_NONE
                                       : OTHERS_UNKNOWN;
}

void attempt_wait_for(struct attempt *c, struct actions *out, uint32_t predecessor)
{
    out->list[out->count - 1].id = predecessor;
    c->shared_session = false;
    c->others = OTHERS_UNKNOWN;
    c->waited = true;
    c->watching = true;
    attempt_move(c, ST_WAITING);
}

void attempt_unwatch_limit(struct attempt *c, struct actions *out)
{
    if (c->limit_watched)
        attempt_act(out, ACT_UNWATCH_LIMIT);
    c->limit_watched = false;
}

void attempt_move(struct attempt *c, enum attempt_state to)
{
    assert(attempt_may_move(c->state, to));
    c->state = to;
}

struct action *attempt_act(struct actions *out, enum action_kind kind)
{
    assert(out->count < ATTEMPT_ACTIONS);
    struct action *a = &out->list[out->count++];
    *a = (struct action){.kind = kind};
    return a;
}

void attempt_ask(struct attempt *c, struct actions *out, enum action_kind kind)
{
    attempt_act(out, kind)->tag = ++c->tag;
}

void attempt_unwatch(struct attempt *c, struct actions *out)
{
    if (c->watching)
        attempt_act(out, ACT_UNWATCH);
    c->watching = false;
}

void attempt_finish(struct attempt *c, struct actions *out)
{
    attempt_unwatch(c, out);
    attempt_unwatch_limit(c, out);
    if (c->has_node)
        attempt_act(out, ACT_DELETE);
    c->has_node = false;
    attempt_move(c, ST_DONE);
}

void attempt_end_without_node(struct attempt *c, struct actions *out, enum loss loss)
{
    if (c->state == ST_HOLDING)
        attempt_act(out, ACT_REVOKE)->loss = loss;
    c->has_node = false;
    attempt_move(c, ST_DONE);
}

void attempt_tell(struct attempt *c, struct actions *out, int error)
{
    attempt_act(out, ACT_FAIL)->error = error;
    c->told = true;
}

void attempt_fail(struct attempt *c, struct actions *out, int error)
{
    attempt_tell(c, out, error);
    attempt_finish(c, out);
}

int attempt_error_of(enum answer answer)
{
    return answer == ANSWER_REFUSED      ? ATTEMPT_REFUSED
           : answer == ANSWER_NOCHILDREN ? ATTEMPT_NOCHILDREN
           : answer == ANSWER_LIMIT      ? ATTEMPT_LIMIT
                                         : ATTEMPT_PROTOCOL;
}

void attempt_fail_answer(struct attempt *c, struct actions *out, enum answer answer)
{
    attempt_fail(c, out, attempt_error_of(answer));
}

bool attempt_is_own_gone(const struct event *ev)
{
    return ev->answer == ANSWER_NONODE ||
           (ev->answer == ANSWER_OK && ev->ephemeral_owner != ev->session);
}

void attempt_own_watched(struct attempt *c, const struct event *ev)
{
    c->own_watched = true;
    c->own_connection = ev->connection;
}

bool attempt_needs_own_watch(const struct attempt *c)
{
    return c->others != OTHERS_NONE || c->heeds;
}

bool attempt_next_round(struct attempt *c, struct actions *out)
{
    if (++c->rounds <= ROUNDS_MAX)
        return true;
    attempt_fail(c, out, ATTEMPT_PROTOCOL);
    return false;
}

/* Deleting what is gone costs one request and makes an orphan impossible, whatever became of the
 * node. */
void attempt_reenter(struct attempt *c, struct actions *out)
{
    if (!attempt_next_round(c, out))
        return;
    attempt_unwatch(c, out);
    attempt_unwatch_limit(c, out);
    if (c->has_node)
        attempt_act(out, ACT_DELETE);
    attempt_move(c, ST_REENTERING);
}
