#include "client.h"

#include <string.h>

#include "candidate.h"
#include "group.h"
#include "lib/lock/mutex.h"
#include "lib/session/core.h"
#include "onlooker.h"
#include "permits.h"
#include "unit/seeded.h"

const char *const client_paths[LINES] = {"/a", "/b/c", "/e", "/e", "/a", "/a/locks", "/b/c/locks"};

const char *client_directory(int line)
{
    static const char *const leases[PATHS] = {"/a/leases", "/b/c/leases"};

    return client_leasing && line < PATHS ? leases[line] : client_paths[line];
}

bool client_has_latches(int line)
{
    return line == LINE_LATCH || line == LINE_BESIDE;
}

const struct client *client_on(const struct stage *stage, const struct host *host)
{
    for (guint i = 0; i < stage->processes->len; i++) {
        const struct client *p = stage->processes->pdata[i];
        if (p->host == host)
            return p;
    }
    return NULL;
}

int client_place(int line)
{
    int place = 0;

    while (strcmp(client_paths[place], client_paths[line]) != 0)
        place++;
    return place;
}

int client_line(const char *path)
{
    const char *name = strrchr(path, '/');
    bool latch = strstr(name, "-latch-") != NULL;
    size_t length = (size_t)(name - path);

    for (int i = 0; i < LINES; i++) {
        const char *directory = client_directory(i);
        if (client_has_latches(i) == latch && strlen(directory) == length &&
            strncmp(directory, path, length) == 0)
            return i;
    }
    return -1;
}

static void on_log(const zkl_log_record *record, void *data)
{
    struct client *p = data;

    if (p->dead)
        return;
    if (strcmp(record->event, "data-went-back") == 0)
        onlookers_rewound(p);
    if (!p->stage->trace)
        return;
    char *text = trace_shorten(p->stage->trace, record->text);
    client_tell(p, "logs: %s", text);
    g_free(text);
}

struct client *client_new(struct stage *stage, const char *name, int rate_ppm,
                          const zkl_session_options *options)
{
    struct client *p = g_new0(struct client, 1);

    p->stage = stage;
    p->host = world_host(stage->world, name, rate_ppm);
    p->hosts = "zk:2181";
    p->options = *options;
    p->warm_ms = 60000;
    p->options.log = on_log;
    p->options.log_data = p;
    p->options.log_level = ZKL_LOG_INFO;
    p->options.dispatch = 1;
    p->dispatch_at = NEVER;
    p->running_since = stage_now(stage);
    g_ptr_array_add(stage->processes, p);
    return p;
}

void client_free(void *process)
{
    g_free(process);
}

bool client_retaining, client_sharing, client_counting, client_leasing, client_grouping,
    client_cooling;

/* This uses none of the schedule's random numbers, so that the schedule stays what it is without
 * it. */
static void choose_to_retain(const struct client *p, int path, zkl_mutex_options *options)
{
    uint64_t state = p->stage->random + g_str_hash(host_name(p->host)) + (uint64_t)path;

    if (!client_retaining || seeded_below(&state, 3) != 0)
        return;
    options->retain_ms = 1 + seeded_below(&state, 20000);
    turns_local = seeded_below(&state, 4);
    options->fence64 = seeded_below(&state, 4) == 0;
}

/* Several handles with the same options. */
static void make_mutexes(struct client *p, int path)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    options.name = host_name(p->host);
    if (p->styles)
        options.peer = (zkl_peer)seeded_below(p->styles, ZKL_PEER_KAZOO + 1);
    choose_to_retain(p, path, &options);
    p->peers[path] = options.peer;
    for (int i = 0; i < HANDLES; i++) {
        if (zkl_mutex_new(&p->mutex[path][i], p->session, client_paths[path], &options) != 0)
            stage_wrong(p->stage, "no mutex could be made");
        p->may_have[path] += options.retain_ms ? 2 : 1;
        p->retains[path] |= options.retain_ms > 0;
    }
}

static void free_mutexes(struct client *p, int path)
{
    for (int i = 0; i < HANDLES; i++)
        zkl_mutex_free(p->mutex[path][i]);
}

static void make_rwlock(struct client *p, int path)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    options.name = host_name(p->host);
    if (zkl_rwlock_new(&p->rwlock[path], p->session, client_paths[path], &options) != 0)
        stage_wrong(p->stage, "no read-write lock could be made");
}

/* Some leave it to others to say how many there are. */
static int some_limit(const struct client *p, int path)
{
    uint64_t state = p->stage->random + g_str_hash(host_name(p->host)) + (uint64_t)path;

    return seeded_below(&state, 5) == 0 ? 0 : 1 + (int)seeded_below(&state, 4);
}

static void make_semaphores(struct client *p, int path)
{
    zkl_semaphore_options options = ZKL_SEMAPHORE_OPTIONS_INIT;

    options.name = host_name(p->host);
    options.limit = client_leasing ? limit_log_now(&p->stage->oracle, path) : some_limit(p, path);
    options.layout = client_leasing ? ZKL_SEMAPHORE_CURATOR : ZKL_SEMAPHORE_ZKL;
    p->names_limit[path] = options.limit > 0;
    for (options.numbered = 0; options.numbered <= (client_leasing ? 0 : 1); options.numbered++)
        if (zkl_semaphore_new(&p->semaphore[path][options.numbered], p->session, client_paths[path],
                              &options) != 0)
            stage_wrong(p->stage, "no semaphore could be made");
}

static void make_locks(struct client *p, int path)
{
    if (client_sharing)
        make_rwlock(p, path);
    else if (client_counting)
        make_semaphores(p, path);
    else
        make_mutexes(p, path);
}

static void free_locks(struct client *p, int path)
{
    if (client_sharing) {
        zkl_rwlock_free(p->rwlock[path]);
    } else if (client_counting) {
        zkl_semaphore_free(p->semaphore[path][0]);
        zkl_semaphore_free(p->semaphore[path][1]);
    } else {
        free_mutexes(p, path);
    }
}

static void make_both(struct client *p)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    options.name = host_name(p->host);
    if (zkl_multilock_new(&p->both, p->session, client_paths, PATHS, &options) != 0)
        stage_wrong(p->stage, "no lock of both paths could be made");
}

void client_open(struct client *p)
{
    struct host *before = host_enter(p->host);

    client_tell(p, "opens a session");
    if (zkl_session_open(&p->session, p->hosts, &p->options, NULL) != 0)
        g_error("no session could be opened");
    session_set_warm_ms(p->session, p->warm_ms);
    for (int i = 0; i < PATHS; i++) {
        p->may_have[i] = 0;
        p->retains[i] = false;
        make_locks(p, i);
    }
    make_both(p);
    host_enter(before);
}

static void free_both(struct client *p)
{
    for (int i = 0; i < PATHS; i++)
        acquisition_expect_closed(p, i);
    zkl_multilock_free(p->both);
    make_both(p);
}

void client_free_mutexes(struct client *p, int path)
{
    struct host *before = host_enter(p->host);

    client_tell(p, "frees the mutexes of %s", client_paths[path]);
    if (p->locks_both) {
        free_both(p);
    } else {
        acquisition_expect_closed(p, path);
        free_locks(p, path);
        make_locks(p, path);
    }
    host_enter(before);
}

static void end_stories(const struct client *p, int end)
{
    const struct stage *stage = p->stage;
    const struct {
        const GPtrArray *all;
        const story_end *ends;
    } kinds[] = {{stage->candidates, candidate_ends},
                 {stage->onlookers, onlooker_ends},
                 {stage->group ? stage->group->joiners : NULL, joiner_ends},
                 {stage->group ? stage->group->viewers : NULL, viewer_ends}};

    for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
        for (guint i = 0; kinds[k].all && kinds[k].ends[end] && i < kinds[k].all->len; i++)
            if (*(struct client *const *)kinds[k].all->pdata[i] == p)
                kinds[k].ends[end](kinds[k].all->pdata[i]);
}

/* A dead process hears nothing of it. */
static void end_session(struct client *p)
{
    struct host *before = host_enter(p->host);

    for (int i = 0; i < LINES; i++)
        acquisition_expect_closed(p, i);
    end_stories(p, STORY_CLOSING);
    zkl_session_close(p->session);
    end_stories(p, STORY_CLOSED);
    for (int i = 0; i < PATHS; i++)
        free_locks(p, i);
    zkl_multilock_free(p->both);
    p->session = NULL;
    p->dispatch_at = NEVER;
    host_enter(before);
}

void client_close(struct client *p)
{
    client_tell(p, "closes its session");
    end_session(p);
    client_tell(p, "has closed its session");
}

void client_kill(struct client *p)
{
    struct host *before = host_enter(p->host);

    client_tell(p, "is killed");
    host_kill(p->host);
    p->dead = true;
    acquisition_abandon(p);
    end_stories(p, STORY_DEAD);
    if (p->session)
        end_session(p);
    host_enter(before);
}

void client_pause(struct client *p, bool suspended)
{
    client_tell(p, "is %s", suspended ? "suspended" : "stopped");
    host_pause(p->host, suspended);
}

void client_resume(struct client *p)
{
    client_tell(p, "goes on");
    p->running_since = stage_now(p->stage);
    host_resume(p->host);
}

bool client_runs(const struct client *p)
{
    return !p->dead && !host_is_paused(p->host);
}

/* ---- timers and callbacks ---- */

/* Asked for after each step, but seldom another. */
static int64_t timers_at(struct client *p)
{
    int64_t due = timers_next(p->session->timers);

    if (due == NEVER)
        return NEVER;
    if (due != p->due) {
        p->due = due;
        p->due_at = host_when(p->host, due);
    }
    return MAX(p->due_at, p->running_since) + p->timers_late;
}

int64_t client_next(struct client *p)
{
    if (!p->session || !client_runs(p))
        return NEVER;
    return MIN(timers_at(p), p->dispatch_at);
}

static void run_timers(struct client *p)
{
    zkl_session *s = p->session;

    session_lock(s);
    timers_run(s->timers);
    session_unlock(s);
}

void client_run(struct client *p)
{
    struct host *before = host_enter(p->host);

    if (timers_at(p) <= p->dispatch_at) {
        run_timers(p);
    } else {
        p->dispatch_at = NEVER;
        zkl_session_dispatch(p->session);
    }
    host_enter(before);
}

/* Mostly at once; later now and then; and sometimes one that hangs for a whole timeout. */
static int64_t callback_delay(struct client *p)
{
    struct stage *stage = p->stage;

    if (!stage->hangs || stage->calm || stage_chance(stage, 80))
        return 0;
    int64_t most_ms = stage_chance(stage, 90) ? 20 : 2 * p->options.session_timeout_ms;
    return stage_between(stage, 0, most_ms * 1000000);
}

bool client_awaits_callback(const struct client *p)
{
    return p->session && p->dispatch_at == NEVER && client_runs(p);
}

void client_hear(struct client *p)
{
    p->dispatch_at = stage_now(p->stage) + callback_delay(p);
    p->heard_in = p->stage->tally.steps;
}
