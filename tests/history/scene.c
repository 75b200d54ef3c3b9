#include "scene.h"

#include "tests/support/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool start_server(struct scene *s)
{
    char limit[32];
    const char *const config[] = {limit, NULL};
    const char *hosts[NODES];
    const char *const *within[NODES];
    struct zk_server_options o = {.nodes = s->o.nodes,
                                  .linked = s->o.nodes > 1 && !s->o.lab,
                                  .tick_ms = s->o.tick_ms,
                                  .config = config,
                                  .odd = s->o.odd};

    for (int n = 0; s->o.lab && n < NODES; n++) {
        hosts[n] = s->o.lab->address[n];
        within[n] = s->o.lab->within[n];
    }
    if (s->o.lab) {
        o.hosts = hosts;
        o.within = within;
    }
    g_snprintf(limit, sizeof limit, "syncLimit=%d", s->o.sync_limit ? s->o.sync_limit : 10);
    s->server = zk_server_start(&o);
    return s->server != NULL;
}

bool scene_start(struct scene *s, const struct scene_options *o)
{
    *s = (struct scene){.o = *o, .record = -1};
    if (!scratch_make(&s->scratch, "zkl-faults"))
        return false;
    s->h = history_new(s->scratch.path);
    s->record = history_open(s->scratch.path, "scene");
    return s->record >= 0 && start_server(s);
}

void scene_stop(struct scene *s)
{
    for (int w = 0; w < s->actors; w++) {
        struct actor *a = &s->actor[w];

        if (a->pid)
            process_end(a->pid, SIGKILL);
        scene_end(s, w);
        for (int n = 0; n < s->o.nodes; n++)
            proxy_stop(a->way[n]);
    }
    zk_server_stop(s->server);
    history_free(s->h);
    if (s->record >= 0)
        close(s->record);
    if (s->scratch.path)
        scratch_remove(&s->scratch);
    *s = (struct scene){.record = -1};
}

/* ---- workers ---- */

void scene_record(struct scene *s, int worker, event_kind kind, int64_t value, uint64_t token)
{
    history_add(s->record, worker, worker < 0 ? 0 : s->actor[worker].pid, kind, value, token);
}

static char *connect_string(const struct scene *s, int worker)
{
    const struct actor *a = &s->actor[worker];
    GString *text = g_string_new(NULL);

    for (int n = 0; n < s->o.nodes; n++) {
        if (s->with[worker].node >= 0 && s->with[worker].node != n)
            continue;
        if (text->len > 0)
            g_string_append_c(text, ',');
        if (s->o.lab)
            g_string_append_printf(text, "%s:%d", s->o.lab->address[n],
                                   zk_server_port(s->server, n));
        else
            g_string_append(text, proxy_connect(a->way[n]));
    }
    return g_string_free(text, FALSE);
}

/* Among candidates there are both kinds. */
static enum turn_kind kind_of_turns(const struct scene *s, int worker)
{
    if (s->o.election)
        return worker % 2 == 0 ? TURN_CAMPAIGN : TURN_STARTED;
    return (enum turn_kind)s->with[worker].does.takes;
}

static GPtrArray *arguments_of_another(const struct actor_options *with, const char *connect)
{
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    char **words = g_strsplit(with->command, " ", 0);

    for (char **word = words; *word; word++)
        g_ptr_array_add(argv, *word);
    g_free(words);
    g_ptr_array_add(argv, g_strdup(connect));
    g_ptr_array_add(argv, g_strdup(with->verb));
    g_ptr_array_add(argv, NULL);
    return argv;
}

static GPtrArray *arguments(const struct scene *s, int worker)
{
    const struct actor_options *with = &s->with[worker];
    struct worker_options o = with->does;
    char *connect = connect_string(s, worker);
    GPtrArray *argv;

    o.id = worker;
    o.connect = connect;
    o.dir = s->scratch.path;
    o.root = SCENE_ROOT;
    o.takes = (int)kind_of_turns(s, worker);
    o.timeout_ms = s->o.timeout_ms;
    o.tick_ms = s->o.tick_ms;
    o.paths = o.paths != 0 ? o.paths : 1 << worker % s->o.paths;
    o.seed += s->actor[worker].number;
    argv = with->command ? arguments_of_another(with, connect) : worker_arguments(&o);
    if (!with->command && s->o.program[0]) {
        g_free(argv->pdata[0]);
        argv->pdata[0] = g_strdup(s->o.program[s->actor[worker].version]);
    }
    for (int i = 0; s->o.lab && s->o.lab->within[with->host][i]; i++)
        g_ptr_array_insert(argv, i, g_strdup(s->o.lab->within[with->host][i]));
    g_free(connect);
    return argv;
}

bool scene_again(struct scene *s, int worker)
{
    struct actor *a = &s->actor[worker];
    GPtrArray *argv = arguments(s, worker);
    char *log = g_strdup_printf("%s/w%d.err", s->scratch.path, worker);
    const struct process_options po = {.argv = (const char *const *)argv->pdata, .log = log};

    a->stopped = false;
    a->number++;
    a->pid = process_spawn_told(&po, &a->control);
    if (a->pid <= 0) {
        fprintf(stderr, "cannot start a worker: %s\n", g_strerror(errno));
        a->pid = 0;
    }
    g_free(log);
    g_ptr_array_free(argv, TRUE);
    return a->pid > 0;
}

int scene_add(struct scene *s, const struct actor_options *o)
{
    int worker = s->actors++;
    struct actor *a = &s->actor[worker];
    bool ok = true;

    s->with[worker] = *o;
    for (int n = 0; n < s->o.nodes && !s->o.lab; n++) {
        a->way[n] = proxy_start(zk_server_port(s->server, n));
        ok = ok && a->way[n];
    }
    return ok && scene_again(s, worker) ? worker : -1;
}

void scene_end(struct scene *s, int worker)
{
    if (s->actor[worker].control >= 0)
        close(s->actor[worker].control);
    s->actor[worker].control = -1;
}

void scene_stop_worker(struct scene *s, int worker)
{
    struct actor *a = &s->actor[worker];

    if (a->pid == 0)
        return;
    scene_record(s, worker, EV_STOP, 0, 0);
    process_pause(a->pid);
    a->stopped = true;
}

void scene_let_on(struct scene *s, int worker)
{
    struct actor *a = &s->actor[worker];

    if (!a->stopped)
        return;
    scene_record(s, worker, EV_GOON, 0, 0);
    process_resume(a->pid);
    a->stopped = false;
}

bool scene_kill(struct scene *s, int worker)
{
    struct actor *a = &s->actor[worker];

    if (a->pid == 0)
        return false;
    scene_record(s, worker, EV_KILL, 0, 0);
    process_end(a->pid, SIGKILL);
    scene_record(s, worker, EV_DEAD, SIGKILL, 0);
    scene_end(s, worker);
    a->pid = 0;
    return true;
}

bool scene_replace(struct scene *s, int worker)
{
    return scene_kill(s, worker) && scene_again(s, worker);
}

static bool bury(struct scene *s, int worker)
{
    struct actor *a = &s->actor[worker];
    int status;

    if (a->pid == 0 || waitpid(a->pid, &status, WNOHANG) <= 0)
        return a->pid == 0;
    if (status != 0)
        scene_record(s, worker, EV_DEAD, status, 0);
    a->pid = 0;
    return true;
}

int scene_running(struct scene *s)
{
    int running = 0;

    for (int w = 0; w < s->actors; w++)
        running += !bury(s, w);
    return running;
}

/* ---- the record ---- */

void scene_poll(struct scene *s)
{
    bool sense;

    history_poll(s->h, &sense);
    s->garbled |= !sense;
}

/* What the worker's present process did last, of these kinds (a mask); NULL: none of them. */
static const event *latest(struct scene *s, int worker, uint64_t kinds)
{
    scene_poll(s);
    for (guint i = s->h->events->len; i > 0; i--) {
        const event *e = &g_array_index(s->h->events, event, i - 1);

        if (e->pid == s->actor[worker].pid && (kinds & EV_BIT(e->kind)) != 0)
            return e;
    }
    return NULL;
}

static const event *latest_hold(struct scene *s, int worker)
{
    const event *e = latest(s, worker, EV_BIT(EV_GRANT) | EV_BIT(EV_RELEASE) | EV_BIT(EV_LOST));

    return e && e->kind == EV_GRANT ? e : NULL;
}

bool scene_holds(struct scene *s, int worker)
{
    return latest_hold(s, worker) != NULL;
}

bool scene_waits(struct scene *s, int worker)
{
    const event *e = latest(s, worker, EV_BIT(EV_WANT) | EV_BIT(EV_GRANT) | EV_BIT(EV_ERROR));

    return e && e->kind == EV_WANT;
}

void scene_next(struct scene *s, int worker)
{
    const event *e = latest_hold(s, worker);
    struct actor *a = &s->actor[worker];

    if (!e || e->ns == a->told)
        return;
    a->told = e->ns;
    scene_tell(s, worker, "next");
}

/* A worker that is gone shows in the history. */
void scene_tell(struct scene *s, int worker, const char *order)
{
    const struct actor *a = &s->actor[worker];

    if (a->pid > 0 && !process_tell(a->control, order))
        fprintf(stderr, "w%d takes no orders: %s\n", worker, g_strerror(errno));
}

/* ---- how it comes to rest, and what is then made of it ---- */

static void heal(struct scene *s)
{
    for (int w = 0; w < s->actors; w++) {
        scene_let_on(s, w);
        for (int n = 0; n < s->o.nodes && !s->o.lab; n++)
            proxy_heal(s->actor[w].way[n]);
    }
    for (int n = 0; n < s->o.nodes; n++) {
        zk_server_resume(s->server, n);
        if (s->o.nodes > 1 && !s->o.lab)
            zk_server_rejoin(s->server, n);
        zk_server_launch(s->server, n);
    }
}

static void await_ends(struct scene *s)
{
    for (int w = 0; w < s->actors; w++)
        scene_end(s, w);
    AWAIT(scene_running(s) == 0);
}

/* Soon it would be removed. */
void scene_complain(const struct scene *s)
{
    for (int w = 0; w < s->actors; w++) {
        char *file = g_strdup_printf("%s/w%d.err", s->scratch.path, w), *text = NULL;

        if (g_file_get_contents(file, &text, NULL, NULL) && *text)
            fprintf(stderr, "%s:\n%s\n", file, text);
        g_free(text);
        g_free(file);
    }
}

char **scene_contenders(struct raw *r, const char *path)
{
    char **names = raw_children(r, path), **kept = names;

    for (char **name = names; name && *name; name++) {
        if (g_ascii_isdigit((*name)[strlen(*name) - 1]))
            *kept++ = *name;
        else
            g_free(*name);
    }
    if (kept)
        *kept = NULL;
    return names;
}

static int count_nodes(struct scene *s, struct raw *r)
{
    int count = 0;

    for (int path = 0; path < s->o.paths; path++) {
        char *name = g_strdup_printf(SCENE_ROOT "/%d", path);
        raw_sync(r, name);
        char **children = scene_contenders(r, name);
        count += children ? (int)g_strv_length(children) : 0;
        g_strfreev(children);
        g_free(name);
    }
    return count;
}

/* Names the owners of the nodes. They tell a server that kept a node from a contender that forgot
 * one. */
static void name_nodes(struct scene *s, struct raw *r)
{
    struct Stat stat = {.ephemeralOwner = 0};

    for (int path = 0; path < s->o.paths; path++) {
        char *name = g_strdup_printf(SCENE_ROOT "/%d", path);
        char **children = scene_contenders(r, name);
        for (char **child = children; child && *child; child++) {
            char *node = g_strconcat(name, "/", *child, NULL);
            char *payload = raw_get(r, node, &stat);
            printf("  left: %s of session %" PRIx64 ", made by %" PRIx64 ": %s\n", node,
                   (uint64_t)stat.ephemeralOwner, (uint64_t)stat.czxid, payload ? payload : "");
            free(payload);
            g_free(node);
        }
        g_strfreev(children);
        g_free(name);
    }
}

/* Those that were killed leave theirs to the end of their sessions. */
int scene_nodes_left(struct scene *s)
{
    struct raw *r = raw_open(zk_server_connect(s->server));
    int count = -1;

    if (r)
        AWAIT((count = count_nodes(s, r)) <= 0);
    if (count > 0)
        name_nodes(s, r);
    raw_close(r);
    return r ? count : INT32_MAX;
}

void scene_input(const struct scene *s, judge_input *ret, int nodes)
{
    const int64_t idle_ns = (s->o.timeout_ms + s->o.tick_ms * 3 / 2) * INT64_C(1000000);

    *ret = (judge_input){.events = s->h->events,
                         .workers = s->actors,
                         .paths = s->o.paths,
                         .look = true,
                         .nodes_left = nodes,
                         .garbled = s->garbled,
                         .service_ns = idle_ns + 2000 * INT64_C(1000000),
                         .idle_ns = idle_ns};
}

judgement *scene_judge(struct scene *s)
{
    judge_input in;

    heal(s);
    await_ends(s);
    scene_complain(s);
    int left = scene_nodes_left(s);
    scene_poll(s);
    history_sort(s->h);
    scene_input(s, &in, left);
    return judge(&in);
}
