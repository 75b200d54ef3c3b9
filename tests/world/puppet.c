#include "puppet.h"

#include <string.h>

#include "lib/base/thread.h"

struct world *world;
GString *notes;
int64_t expiring_at;
enum cause ended_by;
static GPtrArray *puppets;

/* ---- the world ---- */

static void on_note(const struct note *n, void *data)
{
    if (n->kind == NOTE_EXPIRING)
        expiring_at = world_now(world);
    if (n->kind == NOTE_SESSION_END)
        ended_by = n->cause;
    g_string_append_printf(
        data, "%d %s %s %" G_GINT64_MODIFIER "x %" G_GINT64_MODIFIER "x %d %d %d %d %u %d %d\n",
        n->kind, n->host ? host_name(n->host) : "-", n->path ? n->path : "-", n->session, n->zxid,
        n->cause, n->request, n->rc, n->event, n->sequence, n->server, (int)n->fired);
}

void begin_world(struct world_config config)
{
    notes = g_string_new(NULL);
    puppets = g_ptr_array_new();
    config.note = on_note;
    config.note_data = notes;
    expiring_at = 0;
    world = world_new(&config);
}

static void free_puppet(struct puppet *p)
{
    puppet_close(p);
    g_string_free(p->heard, TRUE);
    g_free(p->path);
    g_free(p->data);
    g_ptr_array_unref(p->names);
    pthread_mutex_destroy(&p->monitor);
    sem_destroy(&p->closed);
    g_free(p);
}

void end_world(void)
{
    for (guint i = 0; i < puppets->len; i++)
        free_puppet(puppets->pdata[i]);
    g_ptr_array_unref(puppets);
    world_free(world);
    g_string_free(notes, TRUE);
}

void pass(int64_t ns)
{
    world_run(world, world_now(world) + ns);
}

/* ---- what it is told ---- */

static void on_event(void *context, enum store_event event, int64_t session, int timeout_ms)
{
    static const char *const names[] = {"up", "down", "expired", "auth", "begin"};
    struct puppet *p = context;

    p->event = event;
    if (event >= STORE_EV_UNSERVED)
        return; /* they come all the time */
    g_string_append_printf(p->heard, "%s ", names[event]);
    p->up = event == STORE_EV_UP;
    p->expired |= event == STORE_EV_EXPIRED;
    if (p->up) {
        p->session = session;
        p->timeout_ms = timeout_ms;
    }
}

static void on_watch(void *context, const char *path, enum store_fired fired)
{
    static const char *const words[] = {[STORE_FIRED_CHANGED] = "changed",
                                        [STORE_FIRED_GONE] = "gone",
                                        [STORE_FIRED_CHILDREN] = "children",
                                        [STORE_FIRED_CREATED] = "created"};
    struct puppet *p = context;

    g_string_append_printf(p->heard, "%s:%s ", words[fired], path);
}

static void on_closed(void *context)
{
    struct puppet *p = context;

    sem_post(&p->closed);
}

struct asked {
    struct puppet *p;
    char *path;
};

static void on_done(void *context, const struct store_reply *reply)
{
    struct asked *a = context;
    struct puppet *p = a->p;

    g_string_append_printf(p->heard, "%s=%d ", a->path, reply->rc);
    g_free(p->path);
    g_free(p->data);
    p->rc = reply->rc;
    p->path = g_strdup(reply->path);
    p->data = g_strndup(reply->data ? reply->data : "", (gsize)reply->length);
    p->length = reply->length;
    p->czxid = reply->czxid;
    p->ephemeral_owner = reply->ephemeral_owner;
    p->failed = reply->failed;
    g_ptr_array_set_size(p->names, 0);
    for (int i = 0; i < reply->count; i++)
        g_ptr_array_add(p->names, g_strdup(reply->names[i]));
    p->unanswered--;
    g_free(a->path);
    g_free(a);
}

/* ---- what it does ---- */

struct puppet *puppet_new(const char *name, const char *hosts, int timeout_ms)
{
    struct puppet *p = g_new0(struct puppet, 1);
    const struct store_config config = {.hosts = hosts, .timeout_ms = timeout_ms};
    const struct store_sink sink = {on_event, on_watch, on_closed, p, &p->monitor, NULL, NULL};

    p->w = world;
    p->host = world_host(world, name, 0);
    p->heard = g_string_new(NULL);
    p->names = g_ptr_array_new_with_free_func(g_free);
    pthread_mutex_init(&p->monitor, NULL);
    sem_init(&p->closed, 0, 0);
    struct host *before = host_enter(p->host);
    REQUIRE(world_store.open(&p->store, &config, &sink) == 0);
    host_enter(before);
    g_ptr_array_add(puppets, p);
    return p;
}

struct puppet *puppet_at(const char *name, int server, int timeout_ms)
{
    char *hosts = g_strdup_printf("server%d:1", server);
    struct puppet *p = puppet_new(name, hosts, timeout_ms);

    g_free(hosts);
    UNTIL(p->up);
    g_string_truncate(p->heard, 0);
    return p;
}

void puppet_close(struct puppet *p)
{
    if (!p->store)
        return;
    pthread_mutex_lock(&p->monitor);
    world_store.close(p->store);
    pthread_mutex_unlock(&p->monitor);
    p->store = NULL;
    p->up = false;
    thread_wait(&p->closed);
}

bool puppet_send(struct puppet *p, struct store_request request)
{
    struct asked *a = g_new0(struct asked, 1);

    *a = (struct asked){p, g_strdup(request.path)};
    pthread_mutex_lock(&p->monitor);
    struct host *before = host_enter(p->host);
    p->unanswered++;
    bool sent = world_store.submit(p->store, &request, on_done, a);
    host_enter(before);
    pthread_mutex_unlock(&p->monitor);
    if (!sent) {
        p->unanswered--;
        g_free(a->path);
        g_free(a);
    }
    return sent;
}

enum store_rc puppet_do(struct puppet *p, struct store_request request)
{
    REQUIRE(puppet_send(p, request));
    UNTIL(p->unanswered == 0);
    return p->rc;
}

void check_heard(struct puppet *p, const char *expected, const char *file, int line)
{
    runner_check_str(p->heard->str, expected, host_name(p->host), file, line);
    g_string_truncate(p->heard, 0);
}

/* Each program that has puppets begins here. */
int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
