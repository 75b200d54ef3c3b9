#include "candidate.h"
#include "foreign_node.h"
#include "onlooker.h"
#include "roles.h"

enum { PERCENT = 25 }; /* of all schedules */

static bool chance(struct roles *roles, uint32_t percent)
{
    return stream_chance(&roles->elections, percent);
}

void actors_draw(struct roles *roles)
{
    stream_begin(&roles->elections, roles, UINT64_C(0x656c656374696f70), NULL);
    if (!chance(roles, PERCENT))
        return;
    roles->actors = 2 + stream_below(&roles->elections, ACTORS_MAX - 1);
    roles->lines = chance(roles, 50) ? 1 : LINE_LOCKS - PATHS;
}

const char *actors_path(struct roles *roles)
{
    return roles->actors > 0 && chance(roles, 50) ? client_paths[LINE_LATCH] : NULL;
}

static int draw_line(struct roles *roles)
{
    return LINE_LATCH + (int)stream_below(&roles->elections, roles->lines);
}

static zkl_election_options draw_options(struct roles *roles)
{
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;

    o.once = !chance(roles, 85);
    o.yield = chance(roles, 60);
    o.priority = chance(roles, 60) ? (int)stream_below(&roles->elections, 4) : 0;
    if (foreign_nodes_kazoo(roles))
        o.layout = ZKL_LAYOUT_KAZOO; /* where it selects */
    return o;
}

/* ---- those who start elections ---- */

static void leave(struct actor *actor)
{
    candidate_drop(actor->candidate, actor->acquisition);
    actor->candidate = NULL;
    actor->acquisition = NULL;
}

/* What a path's data is, one line of candidates alone decides. */
static void proclaim(struct roles *roles, struct candidate *c)
{
    if (c->line != LINE_SELECTOR)
        candidate_proclaim(c, chance(roles, 50)
                                  ? ZKL_FOREVER
                                  : stream_up_to(&roles->elections, roles->timeout_ms));
}

static void on_event(struct candidate *c, zkl_election_event event)
{
    struct actor *actor = c->data;
    struct roles *roles = actor->member->roles;

    if (actor->candidate != c || roles->stage->calm)
        return;
    if (event == ZKL_ELECTION_LEADING && chance(roles, 40))
        proclaim(roles, c);
    if (event == ZKL_ELECTION_ASKED && chance(roles, 40))
        candidate_yield(c);
    else if (event == ZKL_ELECTION_LOST && chance(roles, 15))
        candidate_resign(c, NULL);
    else if (event == ZKL_ELECTION_STOPPED && c->election && !c->closed && chance(roles, 50))
        candidate_start(c);
    else
        actor->act.at =
            MIN(actor->act.at, stream_soon(&roles->elections, chance(roles, 50) ? 20 : 1));
}

static void act_in_term(struct actor *actor)
{
    struct roles *roles = actor->member->roles;
    uint32_t how = stream_below(&roles->elections, 100);

    if (how < 35)
        candidate_yield(actor->candidate);
    else if (how < 50)
        candidate_resign(actor->candidate, NULL);
    else if (how < 60)
        leave(actor);
    else if (how < 75)
        proclaim(roles, actor->candidate);
}

static void act_as_starter(struct actor *actor)
{
    struct roles *roles = actor->member->roles;
    struct candidate *c = actor->candidate;

    if (!c) {
        zkl_election_options options = draw_options(roles);
        actor->candidate =
            candidate_new(actor->member->process, draw_line(roles), &options, on_event, actor);
        candidate_start(actor->candidate);
    } else if (!c->running) {
        leave(actor);
    } else if (c->term && !c->stopping) {
        act_in_term(actor);
    } else if (!c->stopping && chance(roles, 15)) {
        candidate_resign(c, NULL);
    } else if (chance(roles, 8)) {
        leave(actor);
    }
}

/* ---- those who campaign ---- */

static void on_turn(struct acquisition *a, enum turn turn)
{
    struct actor *actor = a->data;
    struct roles *roles = actor->member->roles;

    if (actor->acquisition != a)
        return;
    if (turn == TURN_FAILED || turn == TURN_ENDED)
        actor->acquisition = NULL;
    if (turn == TURN_GRANTED && chance(roles, 60))
        acquisition_watch(a);
    if (turn == TURN_LOST)
        acquisition_release(a);
    if (turn == TURN_LOST)
        actor->acquisition = NULL;
    actor->act.at = roles->stage->calm ? stream_soon(&roles->elections, 100)
                                       : stream_soon(&roles->elections, chance(roles, 50) ? 20 : 1);
}

static void end_term(struct actor *actor)
{
    struct roles *roles = actor->member->roles;

    if (chance(roles, 40))
        candidate_resign(actor->candidate, NULL);
    acquisition_release(actor->acquisition);
    actor->acquisition = NULL;
}

static void act_as_campaigner(struct actor *actor)
{
    struct roles *roles = actor->member->roles;

    if (!actor->candidate) {
        zkl_election_options options = draw_options(roles);
        actor->candidate =
            candidate_new(actor->member->process, draw_line(roles), &options, NULL, actor);
    }
    candidate_check(actor->candidate);
    if (!actor->acquisition)
        actor->acquisition = acquisition_campaign(
            actor->candidate,
            chance(roles, 60) ? ZKL_FOREVER : stream_up_to(&roles->elections, roles->timeout_ms),
            on_turn, actor);
    else if (actor->acquisition->grant)
        end_term(actor);
    else if (chance(roles, 20))
        candidate_resign(actor->candidate, actor->acquisition);
    else if (chance(roles, 10))
        leave(actor);
}

/* ---- those who observe ---- */

static void act_as_observer(struct actor *actor)
{
    struct roles *roles = actor->member->roles;

    if (!actor->onlooker) {
        actor->onlooker = onlooker_new(actor->member->process, draw_line(roles));
    } else if (chance(roles, 15)) {
        onlooker_end(actor->onlooker, chance(roles, 50));
        actor->onlooker = NULL;
    }
}

/* ---- all of them ---- */

static void on_act(void *data)
{
    static void (*const acts[])(struct actor * actor) = {[ACTOR_STARTER] = act_as_starter,
                                                         [ACTOR_CAMPAIGNER] = act_as_campaigner,
                                                         [ACTOR_OBSERVER] = act_as_observer};
    struct actor *actor = data;
    struct roles *roles = actor->member->roles;

    if (roles->stage->calm && actor->acquisition && actor->acquisition->grant)
        end_term(actor);
    if (roles->stage->calm || !actor->member->process->session)
        return;
    acts[actor->kind](actor);
    actor->act.at = stream_soon(&roles->elections, chance(roles, 50) ? 10 : 1);
}

void actors_start(struct roles *roles)
{
    for (unsigned i = 0; i < roles->actors; i++) {
        struct actor *actor = &roles->actor[i];
        uint32_t how = stream_below(&roles->elections, 100);
        actor->member = &roles->member[i % roles->members];
        actor->kind = how < 55 ? ACTOR_STARTER : how < 75 ? ACTOR_CAMPAIGNER : ACTOR_OBSERVER;
        actor->act = (struct alarm){NEVER, NULL, on_act, actor};
        stage_add_alarm(roles->stage, &actor->act);
    }
}

void actors_wake(struct member *m)
{
    for (unsigned i = 0; i < m->roles->actors; i++) {
        struct actor *actor = &m->roles->actor[i];
        if (actor->member != m)
            continue;
        actor->candidate = NULL;
        actor->acquisition = NULL;
        actor->onlooker = NULL;
        actor->act.process = m->process;
        actor->act.at = stream_soon(&m->roles->elections, chance(m->roles, 60) ? 50 : 2);
    }
}

/* ---- when all is well ---- */

static bool is_away(const struct client *p)
{
    return p->dead || !p->session;
}

void actors_calm(struct roles *roles)
{
    for (unsigned i = 0; i < roles->actors; i++) {
        struct actor *actor = &roles->actor[i];
        if (is_away(actor->member->process)) {
            actor->candidate = NULL;
            actor->acquisition = NULL;
            actor->onlooker = NULL;
        }
        actor->act.at = actor->acquisition && actor->acquisition->grant
                            ? stream_soon(&roles->elections, 100)
                            : NEVER;
    }
}

/* Finds the candidate that leads at that line's path. Two layouts may share a path, and only one
 * candidate of both may lead. */
static const struct candidate *leader_of(const struct roles *roles, int line)
{
    const GPtrArray *candidates = roles->stage->candidates;

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
static const char *what_is_missing(const struct roles *roles)
{
    const struct stage *stage = roles->stage;

    for (guint i = 0; i < stage->candidates->len; i++) {
        const struct candidate *c = stage->candidates->pdata[i];
        /* Numbers that are used up begin again only when no other line of the path leads. */
        if (wants_to_lead(c) && !leader_of(roles, c->line) && !stage->oracle.numbers_end)
            return "nobody leads, though a candidate waits";
    }
    for (guint i = 0; i < stage->onlookers->len; i++) {
        const struct onlooker *o = stage->onlookers->pdata[i];
        if (!onlooker_is_there(o))
            continue;
        if (!onlooker_knows(o))
            return "an observer was not told who leads";
        const struct candidate *c = leader_of(roles, o->line);
        if (c && c->term->token == o->token && !c->unsure && g_strcmp0(c->said, o->said) != 0)
            return "an observer was not told what is proclaimed";
    }
    return NULL;
}

bool actors_are_settled(const void *roles)
{
    return what_is_missing(roles) == NULL;
}

void actors_at_rest(const struct roles *roles)
{
    const char *missing = what_is_missing(roles);

    if (missing)
        stage_wrong(roles->stage, "%s, though all is well again", missing);
}

void actors_end(struct roles *roles)
{
    for (unsigned i = 0; i < roles->actors; i++) {
        struct actor *actor = &roles->actor[i];
        if (actor->candidate)
            candidate_check(actor->candidate);
        if (actor->candidate)
            leave(actor);
        if (actor->onlooker)
            onlooker_end(actor->onlooker, chance(roles, 50));
        actor->onlooker = NULL;
    }
}

bool actors_are_empty(const struct roles *roles)
{
    for (guint i = 0; i < roles->stage->candidates->len; i++) {
        const struct candidate *c = roles->stage->candidates->pdata[i];
        if (c->running && !c->abandoned)
            return false;
    }
    return true;
}
