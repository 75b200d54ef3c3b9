#include "candidate.h"
#include "cast.h"
#include "neighbour.h"
#include "onlooker.h"
#include "unit/seeded.h"

#define MS INT64_C(1000000)

/* Another stream than that of the schedule; one that leaves the known seeds (seeds.c) without. */
#define STREAM UINT64_C(0x656c656374696f70)

enum { PERCENT = 25 }; /* of all schedules */

/* ---- chance ---- */

static uint32_t below(struct cast *cast, uint32_t n)
{
    return seeded_below(&cast->chance, n);
}

static bool chance(struct cast *cast, uint32_t percent)
{
    return below(cast, 100) < percent;
}

static int64_t up_to(struct cast *cast, int64_t ms)
{
    return (int64_t)(seeded_next(&cast->chance) % (uint64_t)(ms + 1));
}

/* A time from now on, of the order of a session timeout / part. */
static int64_t soon(struct cast *cast, int part)
{
    return stage_now(cast->stage) + up_to(cast, cast->timeout_ms * INT64_C(1000) / part) * 1000;
}

void seats_draw(struct cast *cast, uint64_t seed)
{
    cast->chance = seed ^ STREAM;
    if (!chance(cast, PERCENT))
        return;
    cast->seats = 2 + below(cast, SEATS_MAX - 1);
    cast->lines = chance(cast, 50) ? 1 : LINES - PATHS;
}

const char *seats_path(struct cast *cast)
{
    return cast->seats > 0 && chance(cast, 50) ? client_paths[LINE_LATCH] : NULL;
}

static int draw_line(struct cast *cast)
{
    return LINE_LATCH + (int)below(cast, cast->lines);
}

static zkl_election_options draw_options(struct cast *cast)
{
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;

    o.requeue = chance(cast, 85);
    o.yield = chance(cast, 40);
    o.priority = chance(cast, 40) ? (int)below(cast, 4) : 0;
    o.min_term_ms = chance(cast, 30) ? up_to(cast, cast->timeout_ms) : 0;
    o.max_term_ms = chance(cast, 40) ? 1 + up_to(cast, cast->timeout_ms) : 0;
    if (neighbours_kazoo(cast))
        o.layout = ZKL_LAYOUT_KAZOO; /* where it selects */
    return o;
}

/* ---- those who start elections ---- */

static void leave(struct seat *seat)
{
    candidate_drop(seat->candidate, seat->acquisition);
    seat->candidate = NULL;
    seat->acquisition = NULL;
}

/* What a path's data is, one line of candidates alone decides. */
static void proclaim(struct cast *cast, struct candidate *c)
{
    if (c->line != LINE_SELECTOR)
        candidate_proclaim(c, chance(cast, 50) ? ZKL_FOREVER : up_to(cast, cast->timeout_ms));
}

static void on_event(struct candidate *c, zkl_election_event event)
{
    struct seat *seat = c->data;
    struct cast *cast = seat->member->cast;

    if (seat->candidate != c || cast->stage->calm)
        return;
    if (event == ZKL_ELECTION_LEADING && chance(cast, 40))
        proclaim(cast, c);
    if (event == ZKL_ELECTION_ASKED && chance(cast, 40))
        candidate_yield(c);
    else if (event == ZKL_ELECTION_DEPOSED && chance(cast, 15))
        candidate_resign(c, NULL);
    else if (event == ZKL_ELECTION_STOPPED && c->election && !c->closed && chance(cast, 50))
        candidate_start(c);
    else
        seat->act.at = MIN(seat->act.at, soon(cast, chance(cast, 50) ? 20 : 1));
}

static void act_in_term(struct seat *seat)
{
    struct cast *cast = seat->member->cast;
    uint32_t how = below(cast, 100);

    if (how < 35)
        candidate_yield(seat->candidate);
    else if (how < 50)
        candidate_resign(seat->candidate, NULL);
    else if (how < 60)
        leave(seat);
    else if (how < 75)
        proclaim(cast, seat->candidate);
}

static void act_as_starter(struct seat *seat)
{
    struct cast *cast = seat->member->cast;
    struct candidate *c = seat->candidate;

    if (!c) {
        zkl_election_options options = draw_options(cast);
        seat->candidate =
            candidate_new(seat->member->process, draw_line(cast), &options, on_event, seat);
        candidate_start(seat->candidate);
    } else if (!c->running) {
        leave(seat);
    } else if (c->term && !c->stopping) {
        act_in_term(seat);
    } else if (!c->stopping && chance(cast, 15)) {
        candidate_resign(c, NULL);
    } else if (chance(cast, 8)) {
        leave(seat);
    }
}

/* ---- those who campaign ---- */

static void on_turn(struct acquisition *a, enum turn turn)
{
    struct seat *seat = a->data;
    struct cast *cast = seat->member->cast;

    if (seat->acquisition != a)
        return;
    if (turn == TURN_FAILED || turn == TURN_ENDED)
        seat->acquisition = NULL;
    if (turn == TURN_GRANTED && chance(cast, 60))
        acquisition_watch(a);
    if (turn == TURN_LOST)
        acquisition_release(a);
    if (turn == TURN_LOST)
        seat->acquisition = NULL;
    seat->act.at = cast->stage->calm ? soon(cast, 100) : soon(cast, chance(cast, 50) ? 20 : 1);
}

static void end_term(struct seat *seat)
{
    struct cast *cast = seat->member->cast;

    if (chance(cast, 40))
        candidate_resign(seat->candidate, NULL);
    acquisition_release(seat->acquisition);
    seat->acquisition = NULL;
}

static void act_as_campaigner(struct seat *seat)
{
    struct cast *cast = seat->member->cast;

    if (!seat->candidate) {
        zkl_election_options options = draw_options(cast);
        seat->candidate =
            candidate_new(seat->member->process, draw_line(cast), &options, NULL, seat);
    }
    candidate_check(seat->candidate);
    if (!seat->acquisition)
        seat->acquisition = acquisition_campaign(
            seat->candidate, chance(cast, 60) ? ZKL_FOREVER : up_to(cast, cast->timeout_ms),
            on_turn, seat);
    else if (seat->acquisition->grant)
        end_term(seat);
    else if (chance(cast, 20))
        candidate_resign(seat->candidate, seat->acquisition);
    else if (chance(cast, 10))
        leave(seat);
}

/* ---- those who observe ---- */

static void act_as_observer(struct seat *seat)
{
    struct cast *cast = seat->member->cast;

    if (!seat->onlooker) {
        seat->onlooker = onlooker_new(seat->member->process, draw_line(cast));
    } else if (chance(cast, 15)) {
        onlooker_end(seat->onlooker, chance(cast, 50));
        seat->onlooker = NULL;
    }
}

/* ---- all of them ---- */

static void on_act(void *data)
{
    static void (*const acts[])(struct seat * seat) = {[SEAT_STARTER] = act_as_starter,
                                                       [SEAT_CAMPAIGNER] = act_as_campaigner,
                                                       [SEAT_OBSERVER] = act_as_observer};
    struct seat *seat = data;
    struct cast *cast = seat->member->cast;

    if (cast->stage->calm && seat->acquisition && seat->acquisition->grant)
        end_term(seat);
    if (cast->stage->calm || !seat->member->process->session)
        return;
    acts[seat->kind](seat);
    seat->act.at = soon(cast, chance(cast, 50) ? 10 : 1);
}

void seats_start(struct cast *cast)
{
    for (unsigned i = 0; i < cast->seats; i++) {
        struct seat *seat = &cast->seat[i];
        uint32_t how = below(cast, 100);
        seat->member = &cast->member[i % cast->members];
        seat->kind = how < 55 ? SEAT_STARTER : how < 75 ? SEAT_CAMPAIGNER : SEAT_OBSERVER;
        seat->act = (struct alarm){NEVER, NULL, on_act, seat};
        stage_add_alarm(cast->stage, &seat->act);
    }
}

void seats_wake(struct member *m)
{
    for (unsigned i = 0; i < m->cast->seats; i++) {
        struct seat *seat = &m->cast->seat[i];
        if (seat->member != m)
            continue;
        seat->candidate = NULL;
        seat->acquisition = NULL;
        seat->onlooker = NULL;
        seat->act.process = m->process;
        seat->act.at = soon(m->cast, chance(m->cast, 60) ? 50 : 2);
    }
}

/* ---- when all is well ---- */

static bool is_away(const struct client *p)
{
    return p->dead || !p->session;
}

void seats_calm(struct cast *cast)
{
    for (unsigned i = 0; i < cast->seats; i++) {
        struct seat *seat = &cast->seat[i];
        if (is_away(seat->member->process)) {
            seat->candidate = NULL;
            seat->acquisition = NULL;
            seat->onlooker = NULL;
        }
        seat->act.at = seat->acquisition && seat->acquisition->grant ? soon(cast, 100) : NEVER;
    }
}

/* Of that path: of two layouts one may lead. */
static const struct candidate *leader_of(const struct cast *cast, int line)
{
    const GPtrArray *candidates = cast->stage->candidates;

    for (guint i = 0; i < candidates->len; i++) {
        const struct candidate *c = candidates->pdata[i];
        if (client_place(c->line) == client_place(line) && candidate_leads(c))
            return c;
    }
    return NULL;
}

static bool wants_to_lead(const struct candidate *c)
{
    return c->running && !c->stopping && !c->abandoned && !c->ended;
}

/* NULL: all is as it should be. */
static const char *what_is_missing(const struct cast *cast)
{
    const struct stage *stage = cast->stage;

    for (guint i = 0; i < stage->candidates->len; i++) {
        const struct candidate *c = stage->candidates->pdata[i];
        /* Numbers that are used up begin again only when no other line of the path leads. */
        if (wants_to_lead(c) && !leader_of(cast, c->line) && !stage->oracle.numbers_end)
            return "nobody leads, though a candidate waits";
    }
    for (guint i = 0; i < stage->onlookers->len; i++) {
        const struct onlooker *o = stage->onlookers->pdata[i];
        if (!onlooker_is_there(o))
            continue;
        if (!onlooker_knows(o))
            return "an observer was not told who leads";
        const struct candidate *c = leader_of(cast, o->line);
        if (c && c->term->token == o->token && !c->unsure && g_strcmp0(c->said, o->said) != 0)
            return "an observer was not told what is proclaimed";
    }
    return NULL;
}

bool seats_are_settled(const void *cast)
{
    return what_is_missing(cast) == NULL;
}

void seats_at_rest(const struct cast *cast)
{
    const char *missing = what_is_missing(cast);

    if (missing)
        stage_wrong(cast->stage, "%s, though all is well again", missing);
}

void seats_end(struct cast *cast)
{
    for (unsigned i = 0; i < cast->seats; i++) {
        struct seat *seat = &cast->seat[i];
        if (seat->candidate)
            candidate_check(seat->candidate);
        if (seat->candidate)
            leave(seat);
        if (seat->onlooker)
            onlooker_end(seat->onlooker, chance(cast, 50));
        seat->onlooker = NULL;
    }
}

bool seats_are_empty(const struct cast *cast)
{
    for (guint i = 0; i < cast->stage->candidates->len; i++) {
        const struct candidate *c = cast->stage->candidates->pdata[i];
        if (c->running && !c->abandoned)
            return false;
    }
    return true;
}
