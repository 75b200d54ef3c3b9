#include "chaos_roles.h"

#include "tests/history/register.h"
#include "tests/support/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define NUMBER "00000000000000000000 00000000000000000000\n" /* the token, and the number */
#define FOR_EVER "1000000"                                   /* seconds */

enum { TICK_MS = 500, PAUSE_MS = 4 };

/* What says where a process is. */
#define ACTS                                                                                       \
    (EV_BIT(EV_GRANT) | EV_BIT(EV_BEGIN) | EV_BIT(EV_GO) | EV_BIT(EV_SKIP) | EV_BIT(EV_WRITE) |    \
     EV_BIT(EV_RELEASE) | EV_BIT(EV_LOST))

const char *kind_name(enum kind kind)
{
    static const char *const names[KINDS] = {"curator", "kazoo-curator", "zkl-retain", "careful"};

    return names[kind];
}

bool kind_has_way(enum kind kind)
{
    return kind == ZKL || kind == CAREFUL;
}

/* ---- starting ---- */

/* Those of others are told what to do. */
static void begin(struct roles *c, const struct slot *s)
{
    char *text;

    g_hash_table_insert(c->slot_of, GINT_TO_POINTER(c->scene.actor[s->worker].pid),
                        GINT_TO_POINTER(1 + (s - c->slot)));
    if (s->kind == CAREFUL)
        return;
    text = g_strdup_printf("contend " SCENE_ROOT "/0 %s %s %s " FOR_EVER " 0 %d",
                           kind_name(s->kind), c->reg, c->contended, c->o.fenced);
    scene_tell(&c->scene, s->worker, text);
    g_free(text);
}

static bool start_slot(struct roles *c, int i)
{
    struct slot *s = &c->slot[i];
    const enum kind kind = (enum kind)(i / EACH);
    const struct actor_options ao = {.node = -1,
                                     .command = kind == CAREFUL ? NULL : c->o.command[kind],
                                     .verb = "locks",
                                     .does = {.role = WORKER_AT_NUMBER,
                                              .takes = TURN_LOCK,
                                              .hold_max_ms = PAUSE_MS,
                                              .margin_ms = MARGIN_MS,
                                              .careless = !c->o.careful}};

    *s = (struct slot){.kind = kind, .worker = scene_add(&c->scene, &ao)};
    if (s->worker >= 0)
        begin(c, s);
    return s->worker >= 0;
}

static bool make_files(struct roles *c)
{
    const char *folder = c->scene.scratch.path;

    c->reg = g_strdup_printf("%s/register", folder);
    c->number = g_strdup_printf("%s/number", folder);
    c->contended = g_strdup_printf("%s/register.history", folder);
    if (!g_file_set_contents(c->reg, NUMBER, -1, NULL) || !number_write(c->number, 0, 0) ||
        !g_file_set_contents(c->contended, "", 0, NULL))
        return false;
    c->reg_fd = open(c->reg, O_RDONLY | O_CLOEXEC);
    return c->reg_fd >= 0;
}

bool roles_start(struct roles *c, const struct roles_options *o)
{
    const struct scene_options so = {
        .nodes = 1, .tick_ms = TICK_MS, .timeout_ms = SESSION_MS, .paths = 1};
    bool ok;

    *c = (struct roles){.o = *o, .reg_fd = -1};
    c->slot_of = g_hash_table_new(NULL, NULL);
    ok = scene_start(&c->scene, &so) && make_files(c);
    for (int i = 0; ok && i < SLOTS; i++)
        ok = start_slot(c, i);
    return ok;
}

void roles_end(struct roles *c)
{
    scene_stop(&c->scene);
    if (c->reg_fd >= 0)
        close(c->reg_fd);
    g_hash_table_destroy(c->slot_of);
    g_free(c->reg);
    g_free(c->number);
    g_free(c->contended);
}

/* ---- what they record ---- */

/* -1: of none. */
static int slot_of(const struct roles *c, const event *e)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(c->slot_of, GINT_TO_POINTER(e->pid))) - 1;
}

enum kind roles_kind(const struct roles *c, const event *e)
{
    const int slot = slot_of(c, e);

    return slot < 0 ? KINDS : c->slot[slot].kind;
}

static void take_act(struct roles *c, struct slot *s, const event *e)
{
    c->turns += e->kind == EV_BEGIN || e->kind == EV_GRANT;
    c->latest[s->kind == CAREFUL] = e->token;
    if (c->scene.actor[s->worker].pid != e->pid)
        return;
    s->last = *e;
    s->served = s->served || e->kind == EV_WRITE;
}

void roles_follow(struct roles *c)
{
    const GArray *events = c->scene.h->events;

    for (scene_poll(&c->scene); c->followed < events->len; c->followed++) {
        const event *e = &g_array_index(events, event, c->followed);
        const int slot = slot_of(c, e);
        struct slot *s = &c->slot[MAX(slot, 0)];

        if (slot < 0)
            continue;
        if ((EV_BIT(e->kind) & ACTS) != 0)
            take_act(c, s, e);
        if (e->kind == EV_KILL)
            s->killed = e->pid;
        s->broken += e->kind == EV_ERROR || (e->kind == EV_DEAD && e->pid != s->killed);
    }
}

bool slot_holds(const struct slot *s)
{
    return s->last.pid != 0 && (s->last.kind == EV_BEGIN || s->last.kind == EV_GRANT);
}

bool slot_is_overtaken(const struct roles *c, const struct slot *s)
{
    return c->latest[s->kind == CAREFUL] > s->last.token;
}

/* ---- what is done to them ---- */

static bool replace(struct roles *c, struct slot *s)
{
    scene_end(&c->scene, s->worker);
    roles_follow(c); /* its last words are still its own */
    s->last = (event){0};
    if (!scene_again(&c->scene, s->worker))
        return false;
    begin(c, s);
    return true;
}

bool roles_kill(struct roles *c, struct slot *s)
{
    scene_kill(&c->scene, s->worker);
    return replace(c, s);
}

static bool has_register(const struct roles *c, const struct slot *s)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(c->reg_fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
           lock.l_pid == c->scene.actor[s->worker].pid;
}

bool roles_stop(struct roles *c, struct slot *s)
{
    scene_stop_worker(&c->scene, s->worker);
    roles_follow(c);
    if (!has_register(c, s) && (s->last.pid == 0 || s->last.kind != EV_GO))
        return true;
    scene_let_on(&c->scene, s->worker);
    return false;
}

struct proxy *roles_way(struct roles *c, const struct slot *s)
{
    return c->scene.actor[s->worker].way[0];
}

void roles_hold(struct roles *c, const struct slot *s, bool on)
{
    if (s->kind == CAREFUL)
        scene_tell(&c->scene, s->worker, on ? "hold" : "go");
}

bool roles_look_after(struct roles *c)
{
    bool ok = true;

    scene_running(&c->scene);
    for (int i = 0; i < SLOTS; i++) {
        if (c->scene.actor[c->slot[i].worker].pid > 0)
            continue;
        fprintf(stderr, "a %s ended by itself\n", kind_name(c->slot[i].kind));
        c->slot[i].broken++;
        ok = replace(c, &c->slot[i]) && ok;
    }
    return ok;
}

/* ---- the end ---- */

void roles_dismiss(struct roles *c)
{
    progress_step();
    for (int i = 0; i < SLOTS; i++) {
        scene_tell(&c->scene, c->slot[i].worker, "stop");
        scene_end(&c->scene, c->slot[i].worker);
    }
    AWAIT(scene_running(&c->scene) == 0);
    for (int i = 0; i < SLOTS; i++)
        c->slot[i].overdue = c->scene.actor[c->slot[i].worker].pid > 0;
    roles_follow(c);
}

/* The register's file has the token, the number and the turn. */
static void read_register(const struct roles *c, struct register_end *ret)
{
    char *text = NULL, *at = NULL;

    *ret = (struct register_end){.number = -1};
    if (g_file_get_contents(c->reg, &text, NULL, NULL)) {
        ret->token = g_ascii_strtoull(text, &at, 10);
        ret->number = g_ascii_strtoll(at, &at, 10);
        ret->turn = g_ascii_strtoull(at, NULL, 10);
    }
    g_free(text);
}

void roles_judge(const struct roles *c, bool careful, struct register_judgement *ret)
{
    GArray *events = g_array_new(FALSE, TRUE, sizeof(event));
    struct register_end end = {.number = -1};

    for (guint i = 0; i < c->scene.h->events->len; i++) {
        const event *e = &g_array_index(c->scene.h->events, event, i);

        if ((roles_kind(c, e) == CAREFUL) == careful)
            g_array_append_vals(events, e, 1);
    }
    if (!careful)
        read_register(c, &end);
    else if (!number_read(c->number, &end.number, &end.token))
        end.number = -1;
    judge_register(events, &end, ret);
    g_array_free(events, TRUE);
}
