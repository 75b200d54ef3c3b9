/* Every interleaving of hosts that decide by recipes/shard.h about one shard, its lock, and a
 * few faults, breadth first. Time passes in steps, and as late as it likes: all that is longer ago
 * than anybody looks back is the same. usage: shares [--full] */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "recipes/shard.h"

enum { HOSTS_MAX = 3, NOW = 1000000, STEP_MS = SHARD_LOOK_MS };

struct share_host {
    struct shard_plan plan; /* as if it were always NOW */
    int64_t confirmed_since, looked_at;
    bool confirmed, owned, granted, wanted, stop;
    bool waits;    /* what it has found in the queue */
    bool asked;    /* somebody else was in line since the shard is not its own */
    bool orders;   /* its process was told to end */
    uint8_t place; /* in the lock's queue, from 1; 0: it is not in it */
    uint8_t unused[7];
};

struct share_state {
    struct share_host h[HOSTS_MAX];
    uint8_t owner, faults;
    uint8_t guest; /* the place of a contender that only asks, and goes again */
    uint8_t unused[4];
};

enum share_move {
    SHARE_LOOK,
    SHARE_END,
    SHARE_GRANT,
    SHARE_WANTED,
    SHARE_LEARN,
    SHARE_BYE,
    SHARE_TIME,
    SHARE_OWNER,
    SHARE_DOUBT,
    SHARE_GUEST,
    SHARE_LOSE,
    SHARE_STOP,
    SHARE_MOVES
};

static const struct breadth_kind moves[SHARE_MOVES] = {
    [SHARE_LOOK] = {"looks, and decides", FAIR, HOSTS_MAX},
    [SHARE_END] = {"its process ends, as it was told to,", FAIR, HOSTS_MAX},
    [SHARE_GRANT] = {"is granted", FAIR, HOSTS_MAX},
    [SHARE_WANTED] = {"is asked", FAIR, HOSTS_MAX},
    [SHARE_LEARN] = {"sees who is there", FAIR, HOSTS_MAX},
    [SHARE_BYE] = {"the guest goes", FAIR, 1},
    [SHARE_TIME] = {"time passes", FAIR, 1},
    [SHARE_OWNER] = {"is to own it, as others have joined or left,", FAULT, HOSTS_MAX},
    [SHARE_DOUBT] = {"does not see itself", FAULT, HOSTS_MAX},
    [SHARE_GUEST] = {"a guest asks who does no work", FAULT, 1},
    [SHARE_LOSE] = {"its command ends, and its lock is lost:", FAULT, HOSTS_MAX},
    [SHARE_STOP] = {"is to stop", FAULT, HOSTS_MAX},
};

static int hosts;

/* ---- time ---- */

static int64_t since(int64_t at, int64_t longest)
{
    return MAX(at, NOW - longest);
}

/* What nobody looks back to is the same, however long it is ago. */
static void forget(struct share_host *h)
{
    h->confirmed_since = since(h->confirmed_since, 2 * STEP_MS);
    h->plan.since = since(h->plan.since, STEP_MS);
    h->plan.held_at = h->plan.held_at ? NOW : 0;
    h->plan.not_before = 0;
    h->plan.asked_at = h->plan.asked_at ? since(h->plan.asked_at, STEP_MS) : 0;
    h->looked_at = h->looked_at ? since(h->looked_at, STEP_MS) : 0;
    h->plan.kill_at = h->plan.kill_at ? MAX(h->plan.kill_at, NOW) : 0;
}

static void pass(struct share_state *st)
{
    for (int i = 0; i < hosts; i++) {
        st->h[i].confirmed_since -= STEP_MS;
        st->h[i].plan.since -= STEP_MS;
        st->h[i].looked_at -= st->h[i].looked_at ? STEP_MS : 0;
        st->h[i].plan.asked_at -= st->h[i].plan.asked_at ? STEP_MS : 0;
        if (st->h[i].plan.kill_at)
            st->h[i].plan.kill_at -= STEP_MS;
        forget(&st->h[i]);
    }
}

/* ---- the lock ---- */

static void close_up(struct share_state *st, uint8_t *place)
{
    for (int i = 0; i < hosts && *place; i++)
        if (st->h[i].place > *place)
            st->h[i].place--;
    if (*place && st->guest > *place)
        st->guest--;
    *place = 0;
}

static void leave(struct share_state *st, struct share_host *h)
{
    close_up(st, &h->place);
    h->granted = h->wanted = h->orders = h->waits = h->asked = false;
    h->looked_at = 0;
    shard_ended(&h->plan, false, NOW);
}

static int in_line(const struct share_state *st)
{
    int count = st->guest != 0;

    for (int i = 0; i < hosts; i++)
        count += st->h[i].place != 0;
    return count;
}

/* ---- moves ---- */

/* A host that has found nobody may look again at once. */
static void read_queue_of(const struct share_state *st, struct share_host *h)
{
    h->waits = in_line(st) > 1;
    h->looked_at = NOW;
    if (!h->waits)
        h->looked_at = h->plan.asked_at = NOW - STEP_MS;
}

static void look(struct share_state *st, struct share_host *h)
{
    const struct shard_facts facts = {.now = NOW,
                                      .confirmed_since = h->confirmed_since,
                                      .member_until = INT64_MAX,
                                      .looked_at = h->looked_at,
                                      .waits = h->waits,
                                      .drain_ms = STEP_MS,
                                      .doubt_ms = STEP_MS,
                                      .confirmed = h->confirmed,
                                      .owned = h->owned,
                                      .granted = h->granted,
                                      .wanted = h->wanted,
                                      .stop = h->stop};
    const enum shard_state before = h->plan.state;
    int64_t due;
    const enum shard_act act = shard_step(&h->plan, &facts, &due);

    if (act == SHARD_SEEK)
        h->place = (uint8_t)(in_line(st) + 1);
    else if (act == SHARD_LOOK)
        read_queue_of(st, h);
    else if (act != SHARD_REST)
        h->orders = true;
    breadth_require(before != SHARD_HELD || act != SHARD_STOP || h->stop || h->asked,
                    "the shard is given up for nobody");
    if (h->confirmed && h->plan.mine)
        h->asked = false;
    forget(h);
}

static void learn(struct share_state *st, int i)
{
    struct share_host *h = &st->h[i];

    if (!h->confirmed)
        h->confirmed_since = NOW;
    h->confirmed = true;
    h->owned = st->owner == i;
}

static void doubt(struct share_host *h)
{
    if (h->confirmed)
        h->confirmed_since = NOW;
    h->confirmed = false;
}

/* A host that goes on has what the stopped one owned. */
static void stop(struct share_state *st, int i)
{
    doubt(&st->h[i]);
    st->h[i].stop = true;
    while (st->h[st->owner].stop)
        st->owner = (uint8_t)((st->owner + 1) % hosts);
}

static void note_asked(struct share_state *st)
{
    for (int i = 0; i < hosts; i++) {
        struct share_host *h = &st->h[i];
        h->asked = h->asked || (h->plan.state == SHARD_HELD && in_line(st) > 1 &&
                                !(h->confirmed && h->plan.mine));
    }
}

static void take(void *state, struct move move)
{
    struct share_state *st = state;
    struct share_host *h = &st->h[move.at];
    int working = 0;

    note_asked(st);
    switch ((enum share_move)move.kind) {
    case SHARE_LOOK:
        look(st, h);
        break;
    case SHARE_END:
    case SHARE_LOSE:
        leave(st, h);
        break;
    case SHARE_GRANT:
        h->granted = true;
        break;
    case SHARE_WANTED:
        h->wanted = true;
        break;
    case SHARE_LEARN:
        learn(st, move.at);
        break;
    case SHARE_GUEST:
        st->guest = (uint8_t)(in_line(st) + 1);
        break;
    case SHARE_BYE:
        close_up(st, &st->guest);
        break;
    case SHARE_TIME:
        pass(st);
        break;
    case SHARE_OWNER:
        st->owner = move.at;
        break;
    case SHARE_DOUBT:
        doubt(h);
        break;
    case SHARE_STOP:
        stop(st, move.at);
        break;
    default:
        break;
    }
    for (int i = 0; i < hosts; i++)
        working += st->h[i].plan.held_at != 0;
    breadth_require(working <= 1, "two work on the shard");
}

static bool is_possible(const struct share_state *st, enum share_move kind, int i)
{
    const struct share_host *h = &st->h[i];
    int running = 0;

    for (int k = 0; k < hosts; k++)
        running += !st->h[k].stop;
    switch (kind) {
    case SHARE_END:
        return h->orders;
    case SHARE_GRANT:
        return h->place == 1 && !h->granted;
    case SHARE_WANTED:
        return h->granted && !h->wanted && in_line(st) > 1;
    case SHARE_LEARN:
        return !h->stop;
    case SHARE_GUEST:
        return !st->guest;
    case SHARE_BYE:
        return st->guest;
    case SHARE_OWNER:
        return !h->stop && st->owner != i;
    case SHARE_DOUBT:
        return h->confirmed;
    case SHARE_LOSE:
        return h->place;
    case SHARE_STOP:
        return !h->stop && running > 1;
    default:
        return true;
    }
}

/* What changes nothing does not happen. */
static bool may(const void *state, struct move move)
{
    struct share_state next;

    if (move.at >= hosts || !is_possible(state, (enum share_move)move.kind, move.at))
        return false;
    if (moves[move.kind].when == FAULT)
        return true;
    memcpy(&next, state, sizeof next);
    take(&next, move);
    return memcmp(&next, state, sizeof next) != 0;
}

static const char *check_end(const void *state)
{
    const struct share_state *st = state;

    for (int i = 0; i < hosts; i++)
        if (st->h[i].plan.state != (i == st->owner ? SHARD_HELD : SHARD_OUT))
            return "nothing can happen, and the shard is not with its owner alone";
    return in_line(st) == 1 ? NULL
                            : "nothing can happen, and the shard is not with its owner alone";
}

/* ---- the program ---- */

static void init(void *state, const void *data)
{
    struct share_state *st = state;

    hosts = *(const int *)data;
    for (int i = 0; i < hosts; i++) {
        st->h[i].confirmed_since = NOW;
        forget(&st->h[i]);
    }
}

static const char *state_name(int state)
{
    static const char *const names[] = {"out", "seeking", "held", "ending", "killed"};

    return names[state];
}

static void print(const void *state)
{
    const struct share_state *st = state;

    for (int i = 0; i < hosts; i++)
        printf(" %s%s%s, place %d;", state_name((int)st->h[i].plan.state),
               st->h[i].confirmed ? "" : " (in doubt)", st->h[i].owned ? " (owns)" : "",
               st->h[i].place);
    printf(" owner %d", st->owner);
}

static const int two = 2, three = 3;
static const struct breadth_run runs[] = {{"two hosts", ALWAYS, 3, &two},
                                          {"three hosts", ALWAYS, 2, &three},
                                          {"three hosts", SOAK, 3, &three}};

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct share_state), .machine = offsetof(struct share_state, h[0].plan.state),
        .stride = sizeof(struct share_host), .machines = HOSTS_MAX, .states = SHARD_KILLED + 1};

    return breadth_main(&world, argc, argv);
}
