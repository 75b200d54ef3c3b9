#include "roles.h"
#include "schedule.h"
#include "write.h"

#define MS INT64_C(1000000)

enum { AFTERMATH_TICKS = 7 }; /* more than a follower gives its leader */

enum {
    NEEDS_VICTIM = 1,
    NEEDS_ENSEMBLE = 2, /* more than one server */
    LASTS = 4           /* has an end */
};

static struct stage *stage_of(const struct fault *f)
{
    return f->roles->stage;
}

static struct host *victim(const struct fault *f)
{
    return f->process->host;
}

/* ---- connections ---- */

static void reset(struct fault *f)
{
    world_reset(victim(f));
}

static void reset_after(struct fault *f)
{
    world_reset_after_effect(victim(f));
}

static void break_soon(struct fault *f)
{
    struct stage *stage = stage_of(f);
    unsigned k = 1 + stage_below(stage, stage_chance(stage, 50) ? 3 : 12);

    world_break_at(victim(f), k, stage_chance(stage, 60));
}

static void cut(struct fault *f)
{
    uint32_t how = stage_below(stage_of(f), 4);

    world_cut(victim(f), stage_chance(stage_of(f), 50) ? -1 : f->server, how != 0, how != 1);
}

static void heal(struct fault *f)
{
    if (!f->process->dead)
        world_heal(victim(f), -1);
}

/* ---- processes ---- */

static void stop(struct fault *f)
{
    if (client_runs(f->process))
        client_pause(f->process, stage_chance(stage_of(f), 30));
}

static void go_on(struct fault *f)
{
    if (!f->process->dead && host_is_paused(victim(f)))
        client_resume(f->process);
}

/* ---- third parties ---- */

static void expire(struct fault *f)
{
    int64_t session = f->process->session ? zkl_session_id(f->process->session) : 0;

    if (session)
        world_expire(stage_of(f)->world, session);
}

static void delete_node(struct fault *f)
{
    char *path = client_grouping ? groups_node(f->roles) : g_strdup(oracle_some_node(stage_of(f)));

    if (path)
        world_admin_delete(stage_of(f)->world, path);
    g_free(path);
}

static const char *some_path(const struct fault *f)
{
    if (client_grouping)
        return groups_path(f->roles);
    const char *election = actors_path(f->roles);
    if (election)
        return election;
    const int path = (int)stage_below(stage_of(f), f->roles->paths);
    const int lines[] = {path, LINE_LOCKS + path};
    return client_leasing && stage_chance(stage_of(f), 70)
               ? client_directory(lines[stage_below(stage_of(f), G_N_ELEMENTS(lines))])
               : client_paths[path];
}

static void delete_directory(struct fault *f)
{
    world_admin_delete(stage_of(f)->world, some_path(f));
}

static void reap(struct fault *f)
{
    world_reap(stage_of(f)->world);
}

/* This happens once: to set the count back would give numbers twice, which no server does. Members
 * have no numbers, and go by the pzxid, which servers with creates on their way would have
 * differently. A create that comes late would have the last number, and so stand before those with
 * low ones: no server makes 2^31 nodes meanwhile. */
static void end_numbers(struct fault *f)
{
    struct stage *stage = stage_of(f);

    if (stage->oracle.numbers_end || client_grouping || schedule_servers == SERVERS_LATE)
        return;
    stage->oracle.numbers_end = true;
    world_set_counter(stage->world, some_path(f), INT32_MAX - (int32_t)stage_below(stage, 5));
}

static void refuse_delete(struct fault *f)
{
    stage_of(f)->oracle.refusing = true;
    world_refuse(stage_of(f)->world, STORE_DELETE, some_path(f));
}

static void refuse_other(struct fault *f)
{
    static const enum store_kind kinds[] = {STORE_CREATE, STORE_LIST, STORE_GET};

    stage_of(f)->oracle.refusing = true;
    world_refuse(stage_of(f)->world, kinds[stage_below(stage_of(f), G_N_ELEMENTS(kinds))],
                 some_path(f));
}

static void refuse_nothing(struct fault *f)
{
    world_refuse(stage_of(f)->world, STORE_SYNC, "/");
}

/* ---- servers ---- */

static void lag(struct fault *f)
{
    world_lag(stage_of(f)->world, f->server,
              stage_between(stage_of(f), 0, f->roles->timeout_ms * MS));
}

static void catch_up(struct fault *f)
{
    world_lag(stage_of(f)->world, f->server, 0);
}

/* The attack on rules that take an answered write for a proof. Nothing is heard of the victim for
 * most of its timeout. Then its server takes one write of it, and is cut off before it has reported
 * that to the leader. */
static void stall(struct fault *f)
{
    if (client_runs(f->process))
        client_pause(f->process, false);
}

static void let_write(struct fault *f)
{
    go_on(f);
    f->follows = true;
}

/* ---- all of them ---- */

/* The one that follows another comes first. */
static const struct {
    void (*begin)(struct fault *f);
    void (*end)(struct fault *f);
    void (*server)(struct world *w, int server, bool on); /* or this, for both */
    unsigned needs;
    unsigned weight; /* against the others */
} kinds[] = {
    {NULL, NULL, world_cut_server, NEEDS_ENSEMBLE | LASTS, 4},
    {stall, let_write, NULL, NEEDS_VICTIM | NEEDS_ENSEMBLE | LASTS, 8},
    {reset, NULL, NULL, NEEDS_VICTIM, 3},
    {reset_after, NULL, NULL, NEEDS_VICTIM, 3},
    {break_soon, NULL, NULL, NEEDS_VICTIM, 6},
    {cut, heal, NULL, NEEDS_VICTIM | LASTS, 4},
    {stop, go_on, NULL, NEEDS_VICTIM | LASTS, 3},
    {expire, NULL, NULL, NEEDS_VICTIM, 1},
    {delete_node, NULL, NULL, 0, 2},
    {delete_directory, NULL, NULL, 0, 1},
    {reap, NULL, NULL, 0, 1},
    {end_numbers, NULL, NULL, 0, 1},
    {refuse_delete, refuse_nothing, NULL, LASTS, 1},
    {refuse_other, refuse_nothing, NULL, LASTS, 1},
    {NULL, NULL, world_pause_server, LASTS, 2},
    {NULL, NULL, world_crash_server, LASTS, 3},
    {lag, catch_up, NULL, NEEDS_ENSEMBLE | LASTS, 3},
};

enum { KINDS = G_N_ELEMENTS(kinds) };

/* Few kinds at a time, so that each has its schedules nearly to itself. */
void fault_draw(struct roles *roles)
{
    uint32_t percent = stage_chance(roles->stage, 50) ? 20 : 60;

    for (unsigned i = 0; i < KINDS; i++) {
        if (stage_chance(roles->stage, percent))
            roles->kinds |= 1U << i;
    }
    if (roles->servers == 1) {
        for (unsigned i = 0; i < KINDS; i++) {
            if (kinds[i].needs & NEEDS_ENSEMBLE)
                roles->kinds &= ~(1U << i);
        }
    }
}

static unsigned draw_kind(const struct roles *roles)
{
    unsigned sum = 0, kind = 0;

    for (unsigned i = 0; i < KINDS; i++)
        sum += roles->kinds & 1U << i ? kinds[i].weight : 0;
    uint32_t at = stage_below(roles->stage, sum);
    for (; !(roles->kinds & 1U << kind) || at >= kinds[kind].weight; kind++)
        at -= roles->kinds & 1U << kind ? kinds[kind].weight : 0;
    return kind;
}

/* Shorter than a timeout mostly, but also longer than any. */
static int64_t draw_length(const struct roles *roles)
{
    uint32_t how = stage_below(roles->stage, 100);

    return how < 40   ? roles_soon(roles, 10)
           : how < 75 ? roles_soon(roles, 1)
                      : roles_soon(roles, 1) + roles->timeout_ms * MS;
}

static int some_server(const struct roles *roles)
{
    int server = (int)stage_below(roles->stage, (uint32_t)roles->servers);

    /* The leader is cut off less often than it would be. */
    if (server == world_leader(roles->stage->world))
        server = (int)stage_below(roles->stage, (uint32_t)roles->servers);
    return server;
}

static void begin(struct fault *f)
{
    struct roles *roles = f->roles;

    f->kind = f->follows ? 0 : draw_kind(roles);
    f->follows = false;
    f->process = roles->member[stage_below(roles->stage, roles->members)].process;
    f->server = some_server(roles);
    if ((kinds[f->kind].needs & NEEDS_VICTIM) && f->process->dead)
        return;
    if (kinds[f->kind].server)
        kinds[f->kind].server(roles->stage->world, f->server, true);
    else
        kinds[f->kind].begin(f);
    f->on = (kinds[f->kind].needs & LASTS) != 0;
    roles->stage->faults += f->on;
    stage_disturbed(roles->stage, 0);
}

int64_t fault_aftermath(const struct roles *roles)
{
    return MAX(roles->timeout_ms, AFTERMATH_TICKS * roles->tick_ms) * MS;
}

static void end(struct fault *f)
{
    if (!f->on)
        return;
    if (kinds[f->kind].server)
        kinds[f->kind].server(stage_of(f)->world, f->server, false);
    else
        kinds[f->kind].end(f);
    f->on = false;
    stage_of(f)->faults--;
    stage_disturbed(stage_of(f),
                    kinds[f->kind].needs & NEEDS_VICTIM ? 0 : fault_aftermath(f->roles));
}

static int64_t draw_pause(const struct fault *f)
{
    const struct roles *roles = f->roles;

    if (f->follows)
        return stage_now(roles->stage) + stage_between(roles->stage, 0, roles->tick_ms * MS / 2);
    if (!f->on)
        return roles_soon(roles, 1);
    if (kinds[f->kind].begin == stall)
        return roles_soon(roles, 3) + roles->timeout_ms * MS / 2;
    return draw_length(roles);
}

static void on_fault(void *data)
{
    struct fault *f = data;

    if (f->roles->stage->calm)
        return;
    if (f->on)
        end(f);
    else
        begin(f);
    f->alarm.at = draw_pause(f);
}

void fault_start(struct roles *roles, unsigned i)
{
    struct fault *f = &roles->fault[i];

    f->roles = roles;
    f->alarm = (struct alarm){NEVER, NULL, on_fault, f};
    if (roles->kinds)
        f->alarm.at = roles_soon(roles, 1);
    stage_add_alarm(roles->stage, &f->alarm);
}

void fault_calm(struct roles *roles)
{
    struct world *world = roles->stage->world;

    for (unsigned i = 0; i < roles->faults; i++)
        end(&roles->fault[i]);
    for (int i = 0; i < roles->servers; i++) {
        world_cut_server(world, i, false);
        world_deafen_server(world, i, false);
        world_pause_server(world, i, false);
        world_crash_server(world, i, false);
        world_lag(world, i, 0);
    }
    for (unsigned i = 0; i < roles->members; i++) {
        struct client *p = roles->member[i].process;
        if (p->dead)
            continue;
        world_heal(p->host, -1);
        if (host_is_paused(p->host))
            client_resume(p);
    }
    world_refuse(world, STORE_SYNC, "/");
}

/* ---- limbo ---- */

enum {
    LIMBO_PERCENT = 15, /* of all schedules */
    STEPS_MAX = 12,
    LATENCIES = 6 /* of the longest, between two steps */
};

/* A leader that hears too few servers to commit anything gives up after some ticks. The servers
 * come back before that. */
static void leave_undecided(struct limbo *l, bool on)
{
    struct world *world = l->stream.roles->stage->world;
    const int servers = l->stream.roles->servers, leader = world_leader(world);
    int left = servers / 2 + 1, at = (int)stream_below(&l->stream, (uint32_t)servers);

    l->stream.roles->stage->faults += on ? 1U : -1U;
    stage_disturbed(l->stream.roles->stage, l->stream.roles->timeout_ms * MS);
    for (int n = 0; n < servers; n++, at = (at + 1) % servers) {
        if (on && (at == leader || left == 0))
            continue;
        world_cut_server(world, at, on);
        left--;
    }
}

static struct acquisition *some_holder(struct limbo *l)
{
    const GPtrArray *holding = l->stream.roles->stage->oracle.holding;

    return holding->len > 0 ? holding->pdata[stream_below(&l->stream, holding->len)] : NULL;
}

static void begin_limbo(struct limbo *l)
{
    l->holder = some_holder(l);
    if (!l->holder || world_leader(l->stream.roles->stage->world) < 0) {
        stream_wait(&l->stream, l->stream.roles->timeout_ms * INT64_C(100000));
        return;
    }
    leave_undecided(l, true);
    l->steps = 3 + stream_below(&l->stream, STEPS_MAX - 2);
    stream_wait(&l->stream, 0);
}

/* Short of time, so that it is told to be unknown before it is known. */
static void make_write(struct limbo *l)
{
    const int64_t timeout_ms =
        stream_below(&l->stream, 3) == 0
            ? ZKL_FOREVER
            : 1 + (int64_t)stream_below(&l->stream, 1 + (uint32_t)(l->most_ns / 1000000));

    if (l->holder->grant && client_runs(l->holder->process))
        write_start(l->holder, false, timeout_ms);
}

/* What was sent once may be refused the next time, and be applied after that. */
static void refuse_writes(struct limbo *l)
{
    struct stage *stage = l->stream.roles->stage;

    l->refusing = !l->refusing;
    stage->oracle.refusing_writes = true;
    world_refuse(stage->world, l->refusing ? STORE_CREATE : STORE_SYNC, write_directory);
}

static void go_on_with_limbo(struct limbo *l)
{
    struct client *p = l->holder->process;
    const uint32_t how = stream_below(&l->stream, 10);

    if (how < 5)
        make_write(l);
    else if (how == 5)
        refuse_writes(l);
    else if (!p->dead && stream_below(&l->stream, 4) == 0)
        world_reset_after_effect(p->host);
    else if (!p->dead)
        world_reset(p->host);
    stream_wait(&l->stream, l->most_ns);
    if (--l->steps > 0)
        return;
    if (l->refusing)
        refuse_writes(l);
    leave_undecided(l, false);
    stream_wait(&l->stream, l->stream.roles->timeout_ms * MS);
}

static void on_limbo(void *data)
{
    struct limbo *l = &((struct stream *)data)->roles->limbo;

    if (l->stream.roles->stage->calm)
        return;
    if (l->steps > 0)
        go_on_with_limbo(l);
    else
        begin_limbo(l);
}

void limbo_draw(struct roles *roles, int latency_us)
{
    struct limbo *l = &roles->limbo;

    stream_begin(&l->stream, roles, UINT64_C(0x6c696d626f000020), on_limbo);
    l->most_ns = latency_us * INT64_C(1000) * LATENCIES;
    if (stream_chance(&l->stream, LIMBO_PERCENT) && roles->servers > 1)
        stream_wait(&l->stream, roles->timeout_ms * MS);
}

/* ---- deafness ---- */

/* Handshakes that clients make with a deaf server touch their sessions. They are answered late, and
 * complete later handshakes. Then the server is cut off, mostly before it has reported anything of
 * them. */
enum { DEAFNESS_PERCENT = 15 /* of all schedules */, RESETS_MAX = 8 };

/* The process reaches that server alone. */
static void isolate(const struct deafness *d)
{
    for (int i = 0; i < d->stream.roles->servers; i++)
        if (i != d->server)
            world_cut(d->process->host, i, true, true);
}

static void begin_deafness(struct deafness *d)
{
    struct roles *roles = d->stream.roles;

    d->server = (int)stream_below(&d->stream, (uint32_t)roles->servers);
    d->process = roles->member[stream_below(&d->stream, roles->members)].process;
    stream_wait(&d->stream, roles->timeout_ms * MS / 2);
    if (d->process->dead || d->server == world_leader(roles->stage->world))
        return;
    roles->stage->faults++;
    stage_disturbed(roles->stage, 0);
    world_deafen_server(roles->stage->world, d->server, true);
    isolate(d);
    d->state = DEAF_NOW;
    d->resets = 2 + stream_below(&d->stream, RESETS_MAX - 1);
    stream_wait(&d->stream, 0);
}

/* A client that is reset tries the next server. */
static void go_on_with_deafness(struct deafness *d)
{
    struct roles *roles = d->stream.roles;

    if (d->resets-- > 0) {
        if (!d->process->dead)
            world_reset(d->process->host);
        stream_wait(&d->stream, roles->timeout_ms * MS / (d->resets > 0 ? 8 : 1));
        return;
    }
    world_deafen_server(roles->stage->world, d->server, false);
    d->state = DEAF_BEFORE;
    stream_wait(&d->stream, roles->tick_ms * MS / 2);
}

static void on_deafness(void *data)
{
    struct deafness *d = &((struct stream *)data)->roles->deafness;
    struct world *world = d->stream.roles->stage->world;

    if (d->stream.roles->stage->calm)
        return;
    switch (d->state) {
    case DEAF_NOT:
        begin_deafness(d);
        break;
    case DEAF_NOW:
        go_on_with_deafness(d);
        break;
    case DEAF_BEFORE:
        world_cut_server(world, d->server, true);
        d->state = DEAF_CUT;
        stream_wait(&d->stream, d->stream.roles->timeout_ms * MS * 3 / 2);
        break;
    case DEAF_CUT:
        world_cut_server(world, d->server, false);
        if (!d->process->dead)
            world_heal(d->process->host, -1);
        d->stream.roles->stage->faults--;
        stage_disturbed(d->stream.roles->stage, fault_aftermath(d->stream.roles));
        d->state = DEAF_NOT;
        stream_wait(&d->stream, d->stream.roles->timeout_ms * MS);
        break;
    }
}

void deafness_draw(struct roles *roles)
{
    struct deafness *d = &roles->deafness;

    stream_begin(&d->stream, roles, UINT64_C(0x6465616673000300), on_deafness);
    if (stream_chance(&d->stream, DEAFNESS_PERCENT) && roles->servers > 1)
        stream_wait(&d->stream, roles->timeout_ms * MS);
}

/* ---- meddling ---- */

/* Somebody makes the node that renewals set, and odd servers do not let it be set for a while. Then
 * the leader is cut off, and the others, which start anew, have another one at once. */
enum { MEDDLING_PERCENT = 40 /* of all schedules on odd servers */ };

static const char meddled[] = "/zookeeper/zkl-none";

static void begin_meddling(struct meddling *m)
{
    struct roles *roles = m->stream.roles;
    struct world *world = roles->stage->world;

    stream_wait(&m->stream, roles->timeout_ms * MS);
    if (!world_exists(world, meddled, NULL, NULL) &&
        !world_admin_create(world, meddled, NULL, false))
        return;
    world_refuse(world, STORE_SET, meddled);
    roles->stage->faults++;
    stage_disturbed(roles->stage, 0);
    m->state = MEDDLED_REFUSED;
}

static void depose(struct meddling *m)
{
    struct roles *roles = m->stream.roles;

    m->leader = world_leader(roles->stage->world);
    for (int i = 0; i < roles->servers; i++) {
        if (i == m->leader)
            world_cut_server(roles->stage->world, i, true);
        else
            world_crash_server(roles->stage->world, i, true);
    }
    stream_wait(&m->stream, roles->tick_ms * MS);
    m->state = MEDDLED_DOWN;
}

static void start_others(struct meddling *m)
{
    for (int i = 0; i < m->stream.roles->servers; i++)
        if (i != m->leader)
            world_crash_server(m->stream.roles->stage->world, i, false);
    stream_wait(&m->stream, m->stream.roles->timeout_ms * MS * 3);
    m->state = MEDDLED_DEPOSED;
}

static void end_meddling(struct meddling *m)
{
    struct roles *roles = m->stream.roles;

    if (m->state == MEDDLED_DEPOSED && m->leader >= 0)
        world_cut_server(roles->stage->world, m->leader, false);
    world_refuse(roles->stage->world, STORE_SYNC, "/");
    roles->stage->faults--;
    stage_disturbed(roles->stage, fault_aftermath(roles));
    stream_wait(&m->stream, roles->timeout_ms * MS);
    m->state = MEDDLED_NOT;
}

static void on_meddling(void *data)
{
    struct meddling *m = &((struct stream *)data)->roles->meddling;

    if (m->stream.roles->stage->calm)
        return;
    if (m->state == MEDDLED_NOT)
        begin_meddling(m);
    else if (m->state == MEDDLED_REFUSED && m->stream.roles->servers > 1)
        depose(m);
    else if (m->state == MEDDLED_DOWN)
        start_others(m);
    else
        end_meddling(m);
}

void meddling_draw(struct roles *roles)
{
    struct meddling *m = &roles->meddling;

    stream_begin(&m->stream, roles, UINT64_C(0x6d6564646c653430), on_meddling);
    if (schedule_servers == SERVERS_ODD && stream_chance(&m->stream, MEDDLING_PERCENT))
        stream_wait(&m->stream, roles->timeout_ms * MS);
}
