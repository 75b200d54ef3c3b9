#include "roles.h"
#include "write.h"

#define MS INT64_C(1000000)

enum { BOTH_PERCENT = 15 }; /* of all schedules */

int64_t roles_soon(const struct roles *roles, int part)
{
    return stage_now(roles->stage) + stage_between(roles->stage, 0, roles->timeout_ms * MS / part);
}

static struct stage *stage_of(const struct slot *slot)
{
    return slot->member->roles->stage;
}

void member_draw(struct roles *roles)
{
    struct stream s;

    stream_begin(&s, roles, UINT64_C(0x6d616e7970617468), NULL);
    if (client_sharing || client_counting || !stream_chance(&s, BOTH_PERCENT))
        return;
    roles->paths = PATHS;
    roles->both = 1 + stream_below(&s, roles->members);
}

/* ---- what a thread does ---- */

static void rest(struct slot *slot)
{
    slot->acquisition = NULL;
    slot->cancel.at = NEVER;
    slot->act.at = roles_soon(slot->member->roles, stage_chance(stage_of(slot), 50) ? 100 : 3);
}

static void let_go(struct slot *slot)
{
    acquisition_release(slot->acquisition);
    rest(slot);
}

static void write_some(struct slot *slot)
{
    struct stage *stage = stage_of(slot);
    int64_t timeout_ms = stage_chance(stage, 30)
                             ? ZKL_FOREVER
                             : stage_between(stage, 0, slot->member->roles->timeout_ms);

    while (stage_chance(stage, 40))
        write_start(slot->acquisition, stage_chance(stage, 20), timeout_ms);
}

/* Whether its loss is told, how often, and how long it is held. */
static void hold(struct slot *slot)
{
    struct stage *stage = stage_of(slot);
    uint32_t how = stage_below(stage, 100);

    slot->cancel.at = NEVER;
    for (uint32_t n = stage_below(stage, 8); n > 0; n /= 3)
        acquisition_watch(slot->acquisition);
    if (slot->member->roles->writes)
        write_some(slot);
    if (slot->member->roles->lingering)
        slot->act.at = NEVER;
    else if (stage->calm)
        slot->act.at = stage_now(stage) + stage_between(stage, 0, 20 * MS);
    else if (how < 10)
        let_go(slot);
    else if (client_cooling && how < 70)
        slot->act.at =
            stage_now(stage) + stage_between(stage, 0, 4 * slot->member->roles->timeout_ms * MS);
    else if (how < 40)
        slot->act.at = stage_now(stage) + stage_between(stage, 0, 30 * MS);
    else if (how < 80)
        slot->act.at = roles_soon(slot->member->roles, 2);
    else if (how < 90 || slot->acquisition->watching == 0)
        slot->act.at = roles_soon(slot->member->roles, 1) + slot->member->roles->timeout_ms * MS;
    else
        slot->act.at = NEVER; /* until it is lost */
}

static void on_turn(struct acquisition *a, enum turn turn)
{
    struct slot *slot = a->data;

    if (slot->acquisition != a)
        return;
    switch (turn) {
    case TURN_GRANTED:
        hold(slot);
        break;
    case TURN_LOST:
        if (stage_chance(stage_of(slot), 50))
            let_go(slot);
        else
            slot->act.at = roles_soon(slot->member->roles, 10);
        break;
    case TURN_FAILED:
        rest(slot);
        break;
    case TURN_ENDED:
        slot->acquisition = NULL;
        slot->act.at = slot->cancel.at = NEVER;
        break;
    }
}

static int64_t draw_timeout(const struct slot *slot)
{
    struct stage *stage = stage_of(slot);
    uint32_t how = stage_below(stage, 100);

    if (how < 15)
        return 0;
    if (how < 50)
        return stage_between(stage, 1, 3 * slot->member->roles->timeout_ms);
    return ZKL_FOREVER;
}

static void enter(struct slot *slot)
{
    struct stage *stage = stage_of(slot);
    struct client *p = slot->member->process;
    int path = (int)stage_below(stage, slot->member->roles->paths);
    int64_t timeout_ms = draw_timeout(slot);

    slot->acquisition = p->locks_both ? acquisition_enter_both(p, timeout_ms, on_turn, slot)
                                      : acquisition_enter(p, path, timeout_ms, on_turn, slot);
    if (stage_chance(stage, 20))
        slot->cancel.at = roles_soon(slot->member->roles, stage_chance(stage, 50) ? 500 : 1);
}

static void on_act(void *data)
{
    struct slot *slot = data;

    if (slot->acquisition && slot->acquisition->grant)
        let_go(slot);
    else if (!slot->acquisition && !stage_of(slot)->calm && slot->member->process->session)
        enter(slot);
}

static void on_cancel(void *data)
{
    struct slot *slot = data;

    if (slot->acquisition)
        acquisition_cancel(slot->acquisition);
}

/* ---- a process ---- */

static void wake_slots(struct member *m)
{
    const unsigned slots = m->process->locks_both ? 1 : m->roles->slots;

    for (unsigned i = 0; i < slots; i++) {
        struct slot *slot = &m->slots[i];
        slot->act.process = slot->cancel.process = m->process;
        if (!slot->acquisition)
            slot->act.at = roles_soon(m->roles, stage_chance(m->roles->stage, 60) ? 200 : 2);
    }
    actors_wake(m);
    groups_wake(m);
}

static void be_born(struct member *m)
{
    char *name = m->lives == 0 ? g_strdup_printf("%c", m->letter)
                               : g_strdup_printf("%c%u", m->letter, m->lives + 1);

    m->lives++;
    m->process = client_new(m->roles->stage, name, m->rate_ppm, &m->options);
    m->process->warm_ms = m->warm_ms;
    m->process->locks_both = m->letter < 'A' + (int)m->roles->both;
    m->process->styles = m->roles->styles ? &m->roles->foreign.chance : NULL;
    m->process->timers_late = stage_chance(m->roles->stage, 70) ? 0 : 2 * MS;
    client_open(m->process);
    wake_slots(m);
    g_free(name);
}

static void come_back(struct member *m)
{
    client_open(m->process);
    wake_slots(m);
}

static void live_on(struct member *m)
{
    struct stage *stage = m->roles->stage;
    uint32_t how = stage_below(stage, 100);

    if (m->process->dead)
        be_born(m);
    else if (!m->process->session && client_runs(m->process))
        come_back(m);
    else if (how < 50)
        client_kill(m->process);
    else if (!client_runs(m->process))
        return;
    else if (how < 80)
        client_close(m->process);
    else
        client_free_mutexes(m->process, (int)stage_below(stage, m->roles->paths));
}

static void on_life(void *data)
{
    struct member *m = data;

    if (m->roles->stage->calm)
        return;
    live_on(m);
    bool away = m->process->dead || !m->process->session;
    m->life.at =
        away ? roles_soon(m->roles, 2)
             : roles_soon(m->roles, 1) + roles_soon(m->roles, 1) - stage_now(m->roles->stage);
}

static struct alarm alarm_of(void (*fn)(void *data), void *data)
{
    return (struct alarm){NEVER, NULL, fn, data};
}

void member_start(struct roles *roles, unsigned i)
{
    struct member *m = &roles->member[i];

    m->roles = roles;
    m->letter = (char)('A' + i);
    m->life = alarm_of(on_life, m);
    if (roles->lives && stage_chance(roles->stage, 60))
        m->life.at = roles_soon(roles, 1) + roles_soon(roles, 1) - stage_now(roles->stage);
    stage_add_alarm(roles->stage, &m->life);
    for (unsigned n = 0; n < roles->slots; n++) {
        struct slot *slot = &m->slots[n];
        slot->member = m;
        slot->act = alarm_of(on_act, slot);
        slot->cancel = alarm_of(on_cancel, slot);
        stage_add_alarm(roles->stage, &slot->act);
        stage_add_alarm(roles->stage, &slot->cancel);
    }
    be_born(m);
}

/* ---- the end ---- */

void member_calm(struct member *m)
{
    struct stage *stage = m->roles->stage;

    m->life.at = NEVER;
    for (unsigned i = 0; i < m->roles->slots; i++) {
        struct slot *slot = &m->slots[i];
        if (!slot->acquisition || !slot->acquisition->grant)
            continue;
        slot->act.at = m->roles->lingering && stage_chance(stage, 50)
                           ? NEVER
                           : stage_now(stage) + stage_between(stage, 0, 50 * MS);
    }
}

bool member_is_done(const struct member *m)
{
    for (unsigned i = 0; i < m->roles->slots; i++) {
        if (m->slots[i].acquisition)
            return false;
    }
    return true;
}

void member_end(struct member *m)
{
    if (!m->process->dead && m->process->session)
        client_close(m->process);
    for (unsigned i = 0; i < m->roles->slots; i++) {
        if (m->slots[i].acquisition)
            acquisition_release(m->slots[i].acquisition);
    }
}
