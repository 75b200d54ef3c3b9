/* A writer that holds goes on as a reader, and at no instant does neither of its nodes stand: the
 * write node goes only when the read node was confirmed, created or found there with our
 * ephemeralOwner, and the write node was found behind that. (Had a third party removed it before,
 * another writer might have come in between.)
 *
 *     EV_DOWNGRADE         created, ours         found            moved
 *  NONE ──────> CREATING ─────────────────> PROVING ────> MOVING ─────> NONE, and a reader
 *                ^ ^  │ unknown, exists       ^  │ gone
 *                │ │  └───────> READING ──────┘  └──> lost
 *                │ └────────────┘   │    found, ours
 *                │   not there      │ anything else
 *                └──── PAUSED <─────┘ (from CREATING and PROVING, too)
 *
 * The read node has the number of the write node, so it stands in its place. Its name is known
 * before: a read of it tells whether it is there, whatever became of the create; and a delete of it
 * comes behind each create. One request is under way at a time, so the answers need no tags.
 * docs/design/read-write.md has the argument. */
#include "attempt_steps.h"

static void create_shared(struct attempt *c, struct actions *out)
{
    attempt_act(out, ACT_CREATE_SHARED);
    c->downgrade = DOWNGRADE_CREATING;
}

static void read_shared(struct attempt *c, struct actions *out)
{
    attempt_act(out, ACT_READ_SHARED);
    c->downgrade = DOWNGRADE_READING;
}

/* It holds as a writer for longer, which keeps out more than it must. Where the directory is gone,
 * so is the own node. */
static void try_later(struct attempt *c, struct actions *out)
{
    if (!c->own_watched)
        attempt_ask(c, out, ACT_READ);
    attempt_act(out, ACT_ARM)->number = ATTEMPT_RETRY_MS;
    c->downgrade = DOWNGRADE_PAUSED;
}

static bool is_ours(const struct event *ev)
{
    return ev->answer == ANSWER_OK && ev->ephemeral_owner == ev->session;
}

static void prove(struct attempt *c, struct actions *out)
{
    attempt_act(out, ACT_READ_EXCLUSIVE);
    c->downgrade = DOWNGRADE_PROVING;
}

static void on_created(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (is_ours(ev))
        prove(c, out);
    else if (ev->answer == ANSWER_UNKNOWN || ev->answer == ANSWER_EXISTS)
        read_shared(c, out);
    else
        try_later(c, out);
}

static void on_read(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (is_ours(ev))
        prove(c, out);
    else if (ev->answer == ANSWER_NONODE)
        create_shared(c, out);
    else
        try_later(c, out);
}

static void on_proof(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (attempt_is_own_gone(ev)) {
        attempt_end_without_node(c, out, LOSS_DELETED);
    } else if (ev->answer != ANSWER_OK) {
        try_later(c, out);
    } else {
        attempt_act(out, ACT_MOVE);
        c->downgrade = DOWNGRADE_MOVING;
        if (ev->asked && !c->asked)
            attempt_act(out, ACT_ASKED);
        c->asked |= ev->asked;
    }
}

/* From here on nothing that was asked of the write node matters. */
static void on_moved(struct attempt *c, struct actions *out)
{
    c->downgrade = DOWNGRADE_NONE;
    c->kind = CHILD_READ;
    c->own_watched = false;
    c->tag++;
    attempt_act(out, ACT_DELETE_EXCLUSIVE);
    if (attempt_needs_own_watch(c))
        attempt_act(out, ACT_ARM)->number = ATTEMPT_OWN_WATCH_MS;
}

void attempt_step_downgrade(struct attempt *c, const struct event *ev, struct actions *out)
{
    const enum attempt_downgrade at = c->downgrade;

    if (ev->kind == EV_DOWNGRADE && c->kind == CHILD_WRITE && at == DOWNGRADE_NONE)
        create_shared(c, out);
    else if (ev->kind == EV_TIMER && at == DOWNGRADE_PAUSED)
        create_shared(c, out);
    else if (ev->kind == EV_SHARED_CREATED && at == DOWNGRADE_CREATING)
        on_created(c, ev, out);
    else if (ev->kind == EV_SHARED_READ && at == DOWNGRADE_READING)
        on_read(c, ev, out);
    else if (ev->kind == EV_EXCLUSIVE_READ && at == DOWNGRADE_PROVING)
        on_proof(c, ev, out);
    else if (ev->kind == EV_MOVED && at == DOWNGRADE_MOVING)
        on_moved(c, out);
}
