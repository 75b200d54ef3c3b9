#include "chaos_roles.h"

#include "tests/history/register.h"
#include "tests/history/worker.h"
#include "tests/support/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER "00000000000000000000 00000000000000000000\n" /* the token, and the number */
#define FOR_EVER "1000000"                                   /* seconds */

enum { PAUSE_MS = 4, LIMIT_S = 60, POLL_US = 5000 };

/* What says where a process is. */
#define ACTS                                                                                       \
    (EV_BIT(EV_GRANT) | EV_BIT(EV_BEGIN) | EV_BIT(EV_GO) | EV_BIT(EV_SKIP) | EV_BIT(EV_WRITE) |    \
     EV_BIT(EV_RELEASE) | EV_BIT(EV_LOST))

const char *kind_name(enum kind kind)
{
    static const char *const names[KINDS] = {"curator", "kazoo-curator", "zkl-retain", "careful"};

    return names[kind];
}

/* ---- starting ---- */

static GPtrArray *careful_arguments(const struct roles *c, const struct slot *s)
{
    const struct worker_options o = {.connect = proxy_connect(s->way),
                                     .dir = c->scratch.path,
                                     .root = CHAOS_ROOT,
                                     .id = (int)(s - c->slot),
                                     .role = WORKER_AT_NUMBER,
                                     .takes = TURN_LOCK,
                                     .paths = 1,
                                     .timeout_ms = SESSION_MS,
                                     .hold_max_ms = PAUSE_MS,
                                     .margin_ms = MARGIN_MS,
                                     .careless = !c->o.careful};

    return worker_arguments(&o);
}

static GPtrArray *other_arguments(const struct roles *c, const struct slot *s)
{
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    char **words = g_strsplit(c->o.command[s->kind], " ", 0);

    for (char **word = words; *word; word++)
        g_ptr_array_add(argv, *word);
    g_free(words);
    g_ptr_array_add(argv, g_strdup(s->way ? proxy_connect(s->way) : zk_server_connect(c->server)));
    g_ptr_array_add(argv, g_strdup("locks"));
    g_ptr_array_add(argv, NULL);
    return argv;
}

static bool begin(const struct roles *c, const struct slot *s)
{
    if (s->kind == CAREFUL)
        return true;
    char *text = g_strdup_printf("contend %s %s %s %s " FOR_EVER " 0 %d", CHAOS_PATH,
                                 kind_name(s->kind), c->reg, c->contended, c->o.fenced);
    bool ok = process_tell(s->control, text);
    g_free(text);
    return ok;
}

static bool spawn(struct roles *c, struct slot *s)
{
    GPtrArray *argv = (s->kind == CAREFUL ? careful_arguments : other_arguments)(c, s);
    const struct process_options po = {.argv = (const char *const *)argv->pdata, .log = s->log};

    s->last = (event){0};
    s->stopped = false;
    s->pid = process_spawn_told(&po, &s->control);
    if (s->pid <= 0)
        fprintf(stderr, "cannot start %s: %s\n", po.argv[0], g_strerror(errno));
    g_hash_table_insert(c->slot_of, GINT_TO_POINTER(s->pid), GINT_TO_POINTER(1 + (s - c->slot)));
    g_ptr_array_free(argv, TRUE);
    return s->pid > 0 && begin(c, s);
}

static bool make_records(struct roles *c)
{
    if (!scratch_make(&c->scratch, "zkl-chaos"))
        return false;
    c->reg = g_strdup_printf("%s/register", c->scratch.path);
    c->number = g_strdup_printf("%s/number", c->scratch.path);
    c->contended = g_strdup_printf("%s/register.history", c->scratch.path);
    c->h = history_new(c->scratch.path);
    c->record = history_open(c->scratch.path, "chaos");
    if (!g_file_set_contents(c->reg, NUMBER, -1, NULL) || !number_write(c->number, 0, 0) ||
        !g_file_set_contents(c->contended, "", 0, NULL))
        return false;
    c->reg_fd = open(c->reg, O_RDONLY | O_CLOEXEC);
    return c->reg_fd >= 0 && c->record >= 0;
}

static bool start_slot(struct roles *c, int i)
{
    struct slot *s = &c->slot[i];

    *s = (struct slot){.kind = (enum kind)(i / EACH), .control = -1};
    s->log = g_strdup_printf("%s/%s-%d.log", c->scratch.path, kind_name(s->kind), i % EACH);
    if (s->kind == ZKL || s->kind == CAREFUL) {
        s->way = proxy_start(zk_server_port(c->server, 0));
        if (!s->way)
            return false;
    }
    return spawn(c, s);
}

bool roles_start(struct roles *c, const struct roles_options *o)
{
    bool ok;

    *c = (struct roles){.o = *o, .reg_fd = -1, .record = -1};
    c->slot_of = g_hash_table_new(NULL, NULL);
    ok = make_records(c) && (c->server = zk_server_start(NULL)) != NULL;
    for (int i = 0; ok && i < SLOTS; i++)
        ok = start_slot(c, i);
    return ok;
}

void roles_end(struct roles *c)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &c->slot[i];

        if (s->pid > 0)
            process_end(s->pid, SIGKILL, 0);
        if (s->control > 0)
            close(s->control);
        if (s->way)
            proxy_stop(s->way);
        g_free(s->log);
    }
    zk_server_stop(c->server);
    if (c->reg_fd >= 0)
        close(c->reg_fd);
    if (c->record >= 0)
        close(c->record);
    history_free(c->h);
    g_hash_table_destroy(c->slot_of);
    g_free(c->reg);
    g_free(c->number);
    g_free(c->contended);
    if (c->scratch.path)
        scratch_remove(&c->scratch);
}

/* ---- what they record ---- */

enum kind roles_kind(const struct roles *c, const event *e)
{
    const int slot = GPOINTER_TO_INT(g_hash_table_lookup(c->slot_of, GINT_TO_POINTER(e->pid)));

    return slot > 0 ? c->slot[slot - 1].kind : KINDS;
}

static void take_act(struct roles *c, const event *e)
{
    c->turns += e->kind == EV_BEGIN || e->kind == EV_GRANT;
    c->latest[roles_kind(c, e) == CAREFUL] = e->token;
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &c->slot[i];

        if (s->pid != e->pid)
            continue;
        s->last = *e;
        s->served = s->served || e->kind == EV_WRITE;
    }
}

void roles_follow(struct roles *c)
{
    bool sense;

    for (guint i = history_poll(c->h, &sense); i < c->h->events->len; i++) {
        const event *e = &g_array_index(c->h->events, event, i);
        const int slot = GPOINTER_TO_INT(g_hash_table_lookup(c->slot_of, GINT_TO_POINTER(e->pid)));

        if ((EV_BIT(e->kind) & ACTS) != 0)
            take_act(c, e);
        if (e->kind == EV_ERROR && slot > 0)
            c->slot[slot - 1].broken++;
    }
    c->garbled |= !sense;
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
    close(s->control);
    s->control = -1;
    roles_follow(c); /* its last words are still its own */
    return spawn(c, s);
}

bool roles_kill(struct roles *c, struct slot *s)
{
    history_add(c->record, (int)(s - c->slot), s->pid, EV_KILL, 0, 0);
    process_end(s->pid, SIGKILL, 0);
    return replace(c, s);
}

static bool has_register(const struct roles *c, const struct slot *s)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(c->reg_fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid == s->pid;
}

bool roles_stop(struct roles *c, struct slot *s)
{
    process_pause(s->pid);
    roles_follow(c);
    if (has_register(c, s) || (s->last.pid != 0 && s->last.kind == EV_GO)) {
        process_resume(s->pid);
        return false;
    }
    s->stopped = true;
    return true;
}

void roles_let_on(struct slot *s)
{
    process_resume(s->pid);
    s->stopped = false;
}

void slot_hold(const struct slot *s, bool on)
{
    if (s->kind == CAREFUL && !process_tell(s->control, on ? "hold" : "go"))
        perror(s->log);
}

bool roles_look_after(struct roles *c)
{
    bool ok = true;

    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &c->slot[i];

        if (waitpid(s->pid, NULL, WNOHANG) != s->pid)
            continue;
        fprintf(stderr, "%s ended by itself\n", s->log);
        s->broken++;
        ok = replace(c, s) && ok;
    }
    return ok;
}

/* ---- the end ---- */

static void tell_end(struct slot *s)
{
    /* A process that cannot be told has ended, which is noticed below. */
    if (!process_tell(s->control, "stop"))
        perror(s->log);
    close(s->control);
    s->control = -1;
}

static bool bury(struct slot *s)
{
    int status;

    if (waitpid(s->pid, &status, WNOHANG) != s->pid)
        return false;
    if (status != 0) {
        fprintf(stderr, "%s ended with status %#x\n", s->log, (unsigned)status);
        s->broken++;
    }
    s->pid = 0;
    return true;
}

void roles_dismiss(struct roles *c)
{
    int64_t deadline = g_get_monotonic_time() + LIMIT_S * G_USEC_PER_SEC;
    int left = SLOTS;

    for (int i = 0; i < SLOTS; i++)
        tell_end(&c->slot[i]);
    while (left > 0 && g_get_monotonic_time() < deadline) {
        for (int i = 0; i < SLOTS; i++)
            left -= c->slot[i].pid > 0 && bury(&c->slot[i]);
        g_usleep(POLL_US);
    }
    for (int i = 0; i < SLOTS; i++)
        c->slot[i].overdue = c->slot[i].pid > 0;
    roles_follow(c);
}

static int count_nodes(struct raw *r)
{
    raw_sync(r, CHAOS_PATH);
    char **children = raw_children(r, CHAOS_PATH);
    int count = children ? (int)g_strv_length(children) : 0;
    g_strfreev(children);
    return count;
}

int roles_nodes_left(struct roles *c)
{
    int64_t deadline = g_get_monotonic_time() + LIMIT_S * G_USEC_PER_SEC;
    struct raw *r = raw_open(zk_server_connect(c->server));
    int count = -1;

    while (r && (count = count_nodes(r)) > 0 && g_get_monotonic_time() < deadline)
        g_usleep(50000);
    raw_close(r);
    return count;
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

    for (guint i = 0; i < c->h->events->len; i++) {
        const event *e = &g_array_index(c->h->events, event, i);

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
