/* zkl_session_flush() takes the monitor. What runs at exit(), at a fork, and once before the first
 * session does without it. All other functions are called with it held. */
#include "orphans.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "denial.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "participant.h"
#include "recipes/name.h"
#include "request.h"

/* The number of deletes that are not confirmed. At exit the process waits for them for a moment.
 * Deletes of sessions with TLS are not counted: OpenSSL's exit handler may run before ours, and
 * then they cannot be confirmed. */
static atomic_int unconfirmed;

static void orphan_count(const zkl_session *s, int change)
{
    if (!s->tls.ca)
        atomic_fetch_add(&unconfirmed, change);
}

void orphan_leaves(zkl_session *s)
{
    s->deletes.leaving++;
    orphan_count(s, 1);
}

void orphan_left(zkl_session *s)
{
    s->deletes.leaving--;
    orphan_count(s, -1);
    pthread_cond_broadcast(&s->changed);
}

/* ---- deletes, and those that the server refuses: they are tried again, and the session ends when
 * nothing else helps ---- */

enum { PAUSE_FIRST_MS = 500, PAUSE_LAST_MS = 30000 };

struct refusal {
    zkl_session *session;
    char *path;
    int64_t pause; /* ns */
    struct timer timer;
    GList link;
};

static void refusal_free(struct refusal *refusal)
{
    timers_cancel(&refusal->timer);
    g_queue_unlink(&refusal->session->refusals, &refusal->link);
    pthread_cond_broadcast(&refusal->session->changed);
    g_free(refusal->path);
    g_free(refusal);
}

static void refusal_on_deleted(struct request *r, const struct store_reply *reply);

static void refusal_try_again(void *data)
{
    struct refusal *refusal = data;

    request_send(refusal->session,
                 request_new(STORE_DELETE, g_strdup(refusal->path), refusal_on_deleted, refusal));
}

static void refusal_pause(struct refusal *refusal)
{
    timers_arm(refusal->session->timers, &refusal->timer, clock_now().boot + refusal->pause,
               refusal_try_again, refusal);
    refusal->pause = MIN(refusal->pause * 2, PAUSE_LAST_MS * CLOCK_MS);
}

static void refusal_begin(zkl_session *s, const char *path)
{
    struct refusal *refusal;

    for (GList *l = s->refusals.head; l; l = l->next) {
        refusal = l->data;
        if (strcmp(refusal->path, path) == 0)
            return;
    }
    refusal = g_new0(struct refusal, 1);
    char *text = denial_text(s, ZKL_EACCES, session_path(s, path));
    log_line(s->log, ZKL_LOG_ERROR, "delete-refused", session_path(s, path),
             "%s: cannot delete it: %s", path, text);
    g_free(text);
    refusal->session = s;
    refusal->path = g_strdup(path);
    refusal->pause = PAUSE_FIRST_MS * CLOCK_MS;
    refusal->link.data = refusal;
    g_queue_push_tail_link(&s->refusals, &refusal->link);
    refusal_pause(refusal);
    s->hooks->purge(s);
}

/* Handles the answer to a repeated delete. The delete's refusal still exists: a refusal has one
 * delete under way, and a session's deletes are answered before its refusals are forgotten. */
static void refusal_on_deleted(struct request *r, const struct store_reply *reply)
{
    if (reply->rc == STORE_OK || reply->rc == STORE_NONODE)
        refusal_free(r->context);
    else
        refusal_pause(r->context);
}

/* A delete that is not answered. */
struct orphan {
    zkl_session *session;
    uint64_t number; /* how many were asked for before */
    GList link;
};

static void orphan_on_deleted(struct request *r, const struct store_reply *reply)
{
    struct orphan *orphan = r->context;
    zkl_session *s = orphan->session;

    if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE)
        refusal_begin(s, r->what.path);
    g_queue_unlink(&s->deletes.pending, &orphan->link);
    g_free(orphan);
    orphan_count(s, -1);
    pthread_cond_broadcast(&s->changed);
}

void orphan_delete(zkl_session *s, char *path)
{
    struct orphan *orphan = g_new(struct orphan, 1);

    *orphan = (struct orphan){s, s->deletes.asked++, {.data = orphan}};
    g_queue_push_tail_link(&s->deletes.pending, &orphan->link);
    orphan_count(s, 1);
    request_send(s, request_new(STORE_DELETE, path, orphan_on_deleted, orphan));
}

/* Whether one of the first count deletes is not answered. Later ones may be answered before: a
 * request that a server throttles is sent again after them. */
static bool orphan_is_among(const zkl_session *s, uint64_t count)
{
    const GList *first = s->deletes.pending.head;

    return first && ((const struct orphan *)first->data)->number < count;
}

/* Returns the path whose delete has been refused for longest; NULL: there is none. */
static const char *orphan_refused(const zkl_session *s)
{
    const struct refusal *first = g_queue_peek_head((GQueue *)(uintptr_t)&s->refusals);

    return first ? first->path : NULL;
}

void orphan_forget_refusals(zkl_session *s)
{
    while (!g_queue_is_empty(&s->refusals))
        refusal_free(s->refusals.head->data);
}

/* ---- creates that may be done late ----
 *
 * If the answer to a create was lost, the session sends a write, which its server's leader orders
 * after the create, and then asks whether the create was done. But a leader may later let in a
 * request that a server had kept back from an earlier connection (docs/design/nodes.md). Such a
 * node belongs to nobody, and others wait for it as long as the session lives. So the session looks
 * for it when its contender or member has ended, and beside a node that holds permits. */

/* A directory is listed after pauses of 1, 3, 9, 27 and 81 s: a follower keeps what it could not
 * send for syncLimit ticks at most, mostly 10 s. If a directory has more than IDS, the oldest are
 * forgotten: each name of a list is compared with all. */
enum { FIRST_S = 1, TIMES = 3, LOOKS = 5, IDS = 64 };

/* All late creates of a session: directory -> struct late_create. */
struct late_creates {
    struct participant participant;
    GHashTable *table;
};

/* Nodes with this id, or of this name, are deleted, but for the one called keep. */
struct sought {
    char *id, *keep;
};

/* The nodes that are looked for in one directory. */
struct late_create {
    struct timer timer;
    zkl_session *session;
    struct late_creates *all;
    char *directory;
    GPtrArray *ids; /* of struct sought */
    bool over;      /* its incarnation has ended, and the answer to a list is still to come */
    int pause_s;
    int looks;
};

static void late_create_end(struct late_create *l)
{
    g_free(l->directory);
    g_ptr_array_unref(l->ids);
    g_free(l);
}

static void late_create_look_now(void *data);

static void late_create_arm(struct late_create *l, int pause_s)
{
    l->pause_s = pause_s;
    timers_arm(l->session->timers, &l->timer, clock_boot() + pause_s * 1000 * CLOCK_MS,
               late_create_look_now, l);
}

static bool late_create_matches(const struct late_create *l, const char *name)
{
    const size_t length = strlen(name);

    for (guint i = 0; i < l->ids->len; i++) {
        const struct sought *sought = l->ids->pdata[i];
        const char *id = sought->id;
        if ((strcmp(name, id) == 0 || name_has_id(name, length, id, strlen(id))) &&
            g_strcmp0(name, sought->keep) != 0)
            return true;
    }
    return false;
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct late_create *l = r->context;

    if (l->over) {
        late_create_end(l);
        return;
    }
    for (int i = 0; reply->rc == STORE_OK && i < reply->count; i++)
        if (late_create_matches(l, reply->names[i]))
            orphan_delete(l->session, g_strconcat(l->directory, "/", reply->names[i], NULL));
    if (++l->looks < LOOKS) {
        late_create_arm(l, TIMES * l->pause_s);
        return;
    }
    g_hash_table_remove(l->all->table, l->directory);
    late_create_end(l);
}

static void late_create_look_now(void *data)
{
    struct late_create *l = data;

    request_send(l->session, request_new(STORE_LIST, g_strdup(l->directory), on_listed, l));
}

/* Forgets a late create. If its timer is not armed, it has asked for the list, and is freed with
 * the answer. */
static gboolean late_create_forget(gpointer directory, gpointer late_create, gpointer unused)
{
    struct late_create *l = late_create;
    const bool asks = !l->timer.at;

    (void)directory, (void)unused;
    timers_cancel(&l->timer);
    l->over = true;
    if (!asks)
        late_create_end(l);
    return TRUE;
}

/* Forgets all: the nodes have ended with the incarnation. */
static void late_creates_forget(struct participant *p)
{
    g_hash_table_foreach_remove(((struct late_creates *)p)->table, late_create_forget, NULL);
}

static void free_all(struct participant *p)
{
    g_hash_table_unref(((struct late_creates *)p)->table);
    g_free(p);
}

static const struct participant_ops participant = {.on = {[NEWS_REPLACED] = late_creates_forget,
                                                          [NEWS_REFUSED] = late_creates_forget,
                                                          [NEWS_CLOSED] = late_creates_forget},
                                                   .free = free_all};

static void free_sought(void *data)
{
    struct sought *sought = data;

    g_free(sought->id);
    g_free(sought->keep);
    g_free(sought);
}

/* Returns the late create of the directory. If there is none, begins one. */
static struct late_create *late_create_for(zkl_session *s, const char *directory)
{
    struct late_creates *all =
        (struct late_creates *)participant_of(s, &participant, sizeof(struct late_creates));

    if (!all->table)
        all->table = g_hash_table_new(g_str_hash, g_str_equal);
    struct late_create *l = g_hash_table_lookup(all->table, directory);
    if (l)
        return l;
    l = g_new0(struct late_create, 1);
    l->session = s;
    l->all = all;
    l->directory = g_strdup(directory);
    l->ids = g_ptr_array_new_with_free_func(free_sought);
    g_hash_table_insert(all->table, l->directory, l);
    late_create_arm(l, FIRST_S);
    return l;
}

/* Begins the intervals anew, but does not repeat a list that is under way. */
void orphan_look_late(zkl_session *s, const char *directory, const char *id, const char *keep)
{
    struct late_create *l;
    struct sought *sought;

    if (s->closing || s->refused)
        return;
    l = late_create_for(s, directory);
    if (l->ids->len == IDS)
        g_ptr_array_remove_index(l->ids, 0);
    sought = g_new(struct sought, 1);
    *sought = (struct sought){g_strdup(id), g_strdup(keep)};
    g_ptr_array_add(l->ids, sought);
    l->looks = 0;
    if (l->timer.at && l->pause_s > FIRST_S)
        late_create_arm(l, FIRST_S);
    else
        l->pause_s = FIRST_S;
}

/* ---- at exit() ---- */

enum { EXIT_PAUSES = 50 };

/* Waits a moment for deletes. Takes no lock, calls nobody and touches nothing that ends. So it
 * returns, whatever the thread was doing, and whatever other threads and the handlers before this
 * one have done. */
static void orphans_at_exit(void)
{
    const struct timespec pause = {.tv_nsec = CLOCK_MS};
    int before;

    if (callbacks_inside())
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (int n = 0; n < EXIT_PAUSES && atomic_load(&unconfirmed) > 0; n++)
        nanosleep(&pause, NULL);
    pthread_setcancelstate(before, NULL);
}

/* Forgets the parent's deletes, in a child. */
static void forget_parent(void)
{
    atomic_store(&unconfirmed, 0);
}

static void orphans_install(void)
{
    fork_handle(NULL, NULL, forget_parent);
    atexit(orphans_at_exit);
}

void orphans_watch_exit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, orphans_install);
}

/* ---- zkl_session_flush() ---- */

/* Returns 0 if the flush may still succeed; otherwise the thread's last error. over: its time
 * has passed. If the server refuses a delete, the node ends with the session, which stays as long
 * as something is held or kept in it. */
static int why_not_flushed(const zkl_session *s, bool over)
{
    const char *refused = orphan_refused(s);
    zkl_error why;

    if (s->refused || (over && !s->up))
        session_why_down(s, &why);
    else if (refused && (participants_presence(s) > PRESENCE_WAITS || s->users.kept > 0))
        denial_fill(s, &why, ZKL_EACCES, session_path(s, refused));
    else if (over)
        error_fill(&why, ZKL_ETIMEDOUT, NULL, "not all that was released is known to be deleted");
    else
        return 0;
    return error_keep(&why);
}

/* Waits first for the attempts that have given up, and have not asked for their deletes yet. Then
 * it waits for none that comes later. */
static int await_flush(zkl_session *s, const struct timespec *until)
{
    uint64_t asked = 0;
    bool leaving = true;

    for (bool more = true;; more = session_wait_change(s, until)) {
        if (s->closing)
            return error_set(ZKL_ECLOSED, NULL, "the session was closed");
        if (leaving) {
            asked = s->deletes.asked;
            leaving = s->deletes.leaving > 0;
        }
        if (!s->refused && !leaving && !orphan_is_among(s, asked) && !orphan_refused(s) &&
            s->stores <= (s->store != NULL))
            return 0;
        const int code = why_not_flushed(s, !more);
        if (code)
            return code;
    }
}

int zkl_session_flush(zkl_session *s, int64_t timeout_ms)
{
    return session_await(s, "zkl_session_flush", timeout_ms, await_flush);
}
