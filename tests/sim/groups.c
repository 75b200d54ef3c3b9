/* The processes that join groups and observe them. */
#include "group.h"
#include "roles.h"

#define MS INT64_C(1000000)

enum { IDS = 3, GAP_MS = 100 /* between lists */, SLACK_MS = 500, LOOKS = 20 };

static bool chance(struct roles *roles, uint32_t percent)
{
    return stream_chance(&roles->groups, percent);
}

static int64_t draw_timeout(struct roles *roles)
{
    return chance(roles, 40) ? ZKL_FOREVER : stream_up_to(&roles->groups, 3 * roles->timeout_ms);
}

const char *groups_path(struct roles *roles)
{
    static const char *const paths[] = {"/g", "/g", "/p"};

    return paths[stream_below(&roles->groups, G_N_ELEMENTS(paths))];
}

char *groups_node(struct roles *roles)
{
    return group_some_node(roles->stage->group, stream_below(&roles->groups, 1 << 20));
}

/* How old the data of a server may be. The server lags, or it was cut off and has not noticed. In
 * addition a connection may be dead without the client's knowledge, and two callbacks may hang, one
 * after the other. */
static int64_t stale_ns(const struct roles *roles, int sync_limit)
{
    int64_t ms = roles->timeout_ms * 3 / 2 + roles->tick_ms + GAP_MS + SLACK_MS;

    if (roles->servers > 1)
        ms += roles->timeout_ms + (sync_limit + 2) * roles->tick_ms;
    if (roles->stage->hangs)
        ms += 5 * (roles->timeout_ms + roles->tick_ms);
    return ms * MS;
}

void groups_draw(struct roles *roles, int sync_limit)
{
    stream_begin(&roles->groups, roles, UINT64_C(0x6d656d6265727335), NULL);
    roles->slots = roles->both = 0;
    roles->writes = false;
    roles->members = MAX(roles->members, 1 + stream_below(&roles->groups, MEMBERS_MAX));
    roles->seats = 2 + stream_below(&roles->groups, SEATS_MAX - 1);
    roles->stage->group = group_new(roles->stage);
    roles->stage->group->stale_ns = stale_ns(roles, sync_limit);
}

/* ---- what they do ---- */

static void act_as_joiner(struct seat *seat)
{
    struct roles *roles = seat->member->roles;
    struct joiner *j = seat->joiner;
    const uint32_t how = stream_below(&roles->groups, 100);

    if (!j || j->ended || (j->leaving && how < 40)) {
        char id[] = {(char)('a' + stream_below(&roles->groups, IDS)), 0};
        if (j && j->member)
            joiner_give_up(j);
        seat->joiner =
            joiner_new(seat->member->process, chance(roles, 20) ? GROUP_PARTY : 0, id, &seat->act);
    } else if (j->leaving || how >= 75) {
        return;
    } else if (how < 40 && j->path != GROUP_PARTY) {
        joiner_update(j, draw_timeout(roles));
    } else if (how < 55) {
        joiner_wait(j, draw_timeout(roles));
    } else if (how < 65) {
        joiner_leave(j, draw_timeout(roles));
    } else if (how < 70) {
        joiner_give_up(j);
        seat->joiner = NULL;
    }
}

static void act_as_viewer(struct seat *seat)
{
    struct roles *roles = seat->member->roles;

    if (!seat->viewer) {
        seat->viewer = viewer_new(seat->member->process, chance(roles, 20) ? GROUP_PARTY : 0);
    } else if (chance(roles, 10)) {
        viewer_end(seat->viewer);
        seat->viewer = NULL;
    }
}

static void on_act(void *data)
{
    struct seat *seat = data;
    struct roles *roles = seat->member->roles;

    if (roles->stage->calm || !seat->member->process->session)
        return;
    if (seat->views)
        act_as_viewer(seat);
    else
        act_as_joiner(seat);
    seat->act.at = stream_soon(&roles->groups, chance(roles, 50) ? 10 : 1);
}

/* While all is well, whoever is in leaves it to others. */
static void make_room(struct roles *roles)
{
    for (unsigned i = 0; i < roles->seats; i++) {
        struct joiner *j = roles->seat[i].joiner;
        for (unsigned k = 0; j && joiner_is_in(j) && k < roles->seats; k++) {
            const struct joiner *other = roles->seat[k].joiner;
            if (other && other != j && joiner_wants_in(other) && other->path == j->path &&
                g_strcmp0(other->id, j->id) == 0)
                joiner_leave(j, ZKL_FOREVER);
        }
    }
}

static void on_look(void *data)
{
    struct roles *roles = data;

    if (roles->stage->calm && roles->making_room)
        make_room(roles);
    for (unsigned i = 0; i < roles->seats; i++)
        if (roles->seat[i].viewer)
            viewer_check(roles->seat[i].viewer);
    roles->looking.at = stage_now(roles->stage) + roles->timeout_ms * MS / LOOKS;
}

void groups_start(struct roles *roles)
{
    for (unsigned i = 0; i < roles->seats; i++) {
        struct seat *seat = &roles->seat[i];
        seat->member = &roles->member[i % roles->members];
        seat->views = chance(roles, 35);
        seat->act = (struct alarm){NEVER, NULL, on_act, seat};
        stage_add_alarm(roles->stage, &seat->act);
    }
    roles->looking =
        (struct alarm){roles->seats ? stage_now(roles->stage) : NEVER, NULL, on_look, roles};
    stage_add_alarm(roles->stage, &roles->looking);
}

void groups_wake(struct member *m)
{
    for (unsigned i = 0; i < m->roles->seats; i++) {
        struct seat *seat = &m->roles->seat[i];
        if (seat->member != m)
            continue;
        seat->joiner = NULL;
        seat->viewer = NULL;
        seat->act.process = m->process;
        seat->act.at = stream_soon(&m->roles->groups, chance(m->roles, 60) ? 50 : 2);
    }
}

/* ---- when all is well ---- */

void groups_calm(struct roles *roles)
{
    roles->making_room = true;
    for (unsigned i = 0; i < roles->seats; i++) {
        struct seat *seat = &roles->seat[i];
        if (seat->member->process->dead || !seat->member->process->session) {
            seat->joiner = NULL;
            seat->viewer = NULL;
        }
        seat->act.at = NEVER;
    }
}

/* NULL: all is as it should be. */
static const char *what_is_missing(const struct roles *roles)
{
    for (unsigned i = 0; i < roles->seats; i++) {
        const struct seat *seat = &roles->seat[i];
        const char *errs = seat->viewer ? viewer_errs(seat->viewer) : NULL;
        if (errs)
            return errs;
        if (seat->joiner && joiner_wants_in(seat->joiner) && !joiner_is_in(seat->joiner))
            return "one that wants to be a member is none";
        if (seat->joiner && joiner_wants_in(seat->joiner) && joiner_is_waiting(seat->joiner))
            return "a member's call does not end";
    }
    return NULL;
}

bool groups_are_settled(const void *roles)
{
    return what_is_missing(roles) == NULL;
}

void groups_at_rest(const struct roles *roles)
{
    const char *missing = what_is_missing(roles);

    if (missing)
        stage_wrong(roles->stage, "%s, though all is well again", missing);
}

void groups_end(struct roles *roles)
{
    roles->making_room = false;
    for (unsigned i = 0; i < roles->seats; i++) {
        struct seat *seat = &roles->seat[i];
        if (seat->joiner && joiner_wants_in(seat->joiner)) {
            if (chance(roles, 50))
                joiner_leave(seat->joiner, ZKL_FOREVER);
            else
                joiner_give_up(seat->joiner);
        }
        if (seat->viewer)
            viewer_end(seat->viewer);
        seat->viewer = NULL;
    }
}

bool groups_are_empty(const struct roles *roles)
{
    char *left = roles->stage->group ? group_remains(roles->stage->group) : NULL;
    const bool empty = !left;

    g_free(left);
    return empty;
}

void groups_at_end(const struct roles *roles)
{
    char *left = roles->stage->group ? group_remains(roles->stage->group) : NULL;

    if (left)
        stage_wrong(roles->stage, "%s is left, though all is well again", left);
    g_free(left);
}
