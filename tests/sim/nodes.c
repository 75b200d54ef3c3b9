#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "lib/session/watch.h"
#include "onlooker.h"
#include "permits.h"
#include "stage.h"

enum { DIGITS = 10 };

static const char *const infixes[] = {"-lock-",    "-latch-",   "__lock__",
                                      "-__READ__", "-__WRIT__", "-lease-"};

/* Where the number begins; NULL: it is no contender's name. */
static const char *find_number(const char *path)
{
    for (size_t i = 0; i < G_N_ELEMENTS(infixes); i++) {
        const char *infix = g_strrstr(path, infixes[i]);
        if (infix && infix[strlen(infixes[i])])
            return infix + strlen(infixes[i]);
    }
    return NULL;
}

static void free_node(void *node)
{
    struct contender_node *n = node;

    g_free(n->path);
    g_free(n);
}

/* ---- whom the end of a node wakes: one waiter at most ---- */

/* A watch that is left over wakes nobody. It is excused if its session could not have got rid of
 * it, in one of two ways. Either the session lost its connection or a waiter's node, or was given
 * up before the server had heard of that. Or, for this one path, the waiter left while the request
 * that sets the watch was not answered. It is excused until the request that removes it is
 * answered. */

/* The requests of one session, not answered yet, for its watch on another's contender. */
struct watching {
    int64_t session;
    char *path;
    unsigned setting, removing;
    bool left; /* its waiter did, before the watch was confirmed */
};

static void free_watching(void *watching)
{
    struct watching *w = watching;

    g_free(w->path);
    g_free(w);
}

static void waking_init(struct oracle *o)
{
    o->shaken = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    o->watching = g_ptr_array_new_with_free_func(free_watching);
}

static void waking_clear(struct oracle *o)
{
    g_hash_table_unref(o->shaken);
    g_ptr_array_unref(o->watching);
}

/* The session may not have got rid of its watches. */
static void waking_shake(struct oracle *o, int64_t session)
{
    g_hash_table_add(o->shaken, g_memdup2(&session, sizeof session));
}

static struct watching *find_watching(const struct oracle *o, int64_t session, const char *path)
{
    for (guint i = 0; i < o->watching->len; i++) {
        struct watching *w = o->watching->pdata[i];
        if (w->session == session && strcmp(w->path, path) == 0)
            return w;
    }
    return NULL;
}

static struct watching *add_watching(struct oracle *o, int64_t session, const char *path)
{
    struct watching *w = g_new0(struct watching, 1);

    w->session = session;
    w->path = g_strdup(path);
    g_ptr_array_add(o->watching, w);
    return w;
}

/* The watch of a waiter that comes anew is wanted. */
static void hear_asked(struct oracle *o, const struct note *note)
{
    const struct contender_node *n = nodes_find(o, note->path);

    if (!n || n->session == note->session)
        return;
    struct watching *w = find_watching(o, note->session, note->path);
    if (!w)
        w = add_watching(o, note->session, note->path);
    if (note->request == STORE_UNWATCH) {
        w->removing++;
    } else {
        w->setting++;
        w->left = false;
    }
}

/* libzookeeper removes no watch before it has heard that it was set. */
static void hear_left(const struct oracle *o, const struct note *note)
{
    const struct contender_node *own = nodes_find(o, note->path);

    if (!own || own->session != note->session)
        return;
    for (guint i = 0; i < o->watching->len; i++) {
        struct watching *w = o->watching->pdata[i];
        const struct contender_node *n = nodes_find(o, w->path);
        if (w->session == note->session && w->setting > 0 && n->number < own->number &&
            client_place(n->line) == client_place(own->line))
            w->left = true;
    }
}

static bool is_about_watch(const struct note *note)
{
    return (note->request == STORE_GET && note->watch) || note->request == STORE_UNWATCH;
}

static void hear_sent(struct oracle *o, const struct note *note)
{
    if (is_about_watch(note))
        hear_asked(o, note);
    else if (note->request == STORE_DELETE)
        hear_left(o, note);
}

/* The request that removes what nobody wants comes right behind this. */
static void hear_answered(struct oracle *o, const struct note *note)
{
    if (note->rc == STORE_GONE)
        waking_shake(o, note->session);
    struct watching *w = is_about_watch(note) ? find_watching(o, note->session, note->path) : NULL;
    if (!w)
        return;
    bool set = note->request == STORE_GET && note->rc == STORE_OK;
    if (note->request == STORE_UNWATCH)
        w->removing--;
    else
        w->setting--;
    if (w->setting + w->removing == 0 && !(w->left && set))
        g_ptr_array_remove_fast(o->watching, w);
}

/* A request that removes a watch may have to wait behind a create that an old server is asked about
 * again; or until later, if that server has hung up on such requests. A session whose contender
 * waits for n is not excused. */
static bool is_left_over(const struct stage *stage, const struct note *note,
                         const struct contender_node *n)
{
    const struct watching *w = find_watching(&stage->oracle, note->session, note->path);
    const struct client *p = client_on(stage, note->host);
    zkl_session *own = p ? p->session : NULL;
    const bool parked = own && !g_queue_is_empty(&own->parked);

    if (n->next == note->session)
        return false;
    return (own && own->removals_lost > WATCH_LOST_BEFORE_PAUSE) ||
           (w && w->left && (w->setting + w->removing > 0 || parked));
}

/* An onlooker hears of the first one's end too. A writer's end lets in all readers behind it.
 * Several may wait for the numbers of one. */
static void hear_fired(struct stage *stage, const struct note *note)
{
    const struct oracle *o = &stage->oracle;
    struct contender_node *n = note->fired == STORE_FIRED_GONE ? nodes_find(o, note->path) : NULL;

    if (!n || n->reader || n->writer || n->numbered || note->session == n->session ||
        g_hash_table_contains(o->shaken, &note->session) ||
        onlookers_look_at(stage, note->host, n->line) || is_left_over(stage, note, n))
        return;
    if (n->woken != 0 && n->woken != note->session)
        stage_wrong(stage, "the end of %s wakes more than one waiter", n->path);
    n->woken = note->session;
}

static void waking_note(struct stage *stage, const struct note *note)
{
    struct oracle *o = &stage->oracle;
    const struct contender_node *n;

    switch (note->kind) {
    case NOTE_DELETED:
        n = nodes_find(o, note->path);
        if (n && nodes_was_taken(n))
            waking_shake(o, n->session);
        break;
    case NOTE_SENT:
        hear_sent(o, note);
        break;
    case NOTE_ANSWERED:
        hear_answered(o, note);
        break;
    case NOTE_WATCH:
        hear_fired(stage, note);
        break;
    case NOTE_EVENT:
        if (note->event == STORE_EV_DOWN)
            waking_shake(o, note->session);
        break;
    default:
        break;
    }
}

/* ---- the nodes ---- */

void oracle_init(struct oracle *o)
{
    for (int i = 0; i < LINES; i++) {
        const struct head nobody = {0, 0, NULL};
        o->heads[i] = g_array_new(FALSE, FALSE, sizeof(struct head));
        g_array_append_val(o->heads[i], nobody);
    }
    o->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_node);
    o->earlier = g_ptr_array_new_with_free_func(free_node);
    o->standing = g_ptr_array_new();
    o->fallen = g_ptr_array_new();
    o->taken = g_ptr_array_new();
    o->holding = g_ptr_array_new();
    o->down = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    o->doubtful = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    permits_init(o);
    waking_init(o);
}

void oracle_clear(struct oracle *o)
{
    for (int i = 0; i < LINES; i++)
        g_array_unref(o->heads[i]);
    g_ptr_array_unref(o->standing);
    g_ptr_array_unref(o->fallen);
    g_ptr_array_unref(o->taken);
    g_ptr_array_unref(o->holding);
    g_hash_table_unref(o->nodes);
    g_ptr_array_unref(o->earlier);
    g_hash_table_unref(o->down);
    g_hash_table_unref(o->doubtful);
    permits_clear(o);
    waking_clear(o);
}

struct contender_node *nodes_find(const struct oracle *o, const char *path)
{
    return g_hash_table_lookup(o->nodes, path);
}

static bool is_usable(int64_t number)
{
    return number >= 0 && number < INT32_MAX;
}

bool nodes_is_usable(const struct contender_node *n)
{
    return is_usable(n->number);
}

const struct contender_node *nodes_of_token(const struct oracle *o, uint64_t token)
{
    GHashTableIter i;
    void *node;

    g_hash_table_iter_init(&i, o->nodes);
    while (g_hash_table_iter_next(&i, NULL, &node)) {
        if (((struct contender_node *)node)->zxid == token)
            return node;
    }
    for (guint k = 0; k < o->earlier->len; k++) {
        if (((struct contender_node *)o->earlier->pdata[k])->zxid == token)
            return o->earlier->pdata[k];
    }
    return NULL;
}

const struct head *oracle_head(const struct stage *stage, int line)
{
    const GArray *heads = stage->oracle.heads[line];

    return &g_array_index(heads, struct head, heads->len - 1);
}

bool nodes_had_lock(const struct oracle *o, const struct contender_node *lease)
{
    const int locks = LINE_LOCKS + lease->line;
    const GArray *heads = o->heads[locks];

    for (guint i = heads->len; i-- > 0;) {
        const struct head *head = &g_array_index(heads, struct head, i);
        if (head->node && head->node->session == lease->session)
            return true;
    }
    for (guint i = 0; i < o->standing->len; i++) {
        const struct contender_node *n = o->standing->pdata[i];
        if (n->line == locks && n->session == lease->session && !nodes_before(o, n))
            return true;
    }
    return false;
}

/* A contender that waits for a lock passes by a node whose number is used up. Such a node goes by
 * itself. */
static bool may_be_first(const struct contender_node *n)
{
    return n->line < LINE_LOCKS || nodes_is_usable(n);
}

/* Somebody has come or gone in the line. */
static void look_who_is_first(struct stage *stage, int line)
{
    const struct contender_node *first = NULL;

    for (guint i = 0; i < stage->oracle.standing->len; i++) {
        const struct contender_node *n = stage->oracle.standing->pdata[i];
        if (n->line == line && may_be_first(n) && (!first || n->number < first->number))
            first = n;
    }
    const struct head head = {first ? first->zxid : 0, stage_now(stage), first};
    if (oracle_head(stage, line)->token != head.token || oracle_head(stage, line)->node != first)
        g_array_append_val(stage->oracle.heads[line], head);
}

static const struct client *client_of(const struct stage *stage, int64_t session)
{
    for (guint i = 0; i < stage->processes->len; i++) {
        const struct client *p = stage->processes->pdata[i];
        if (p->session && !p->dead && zkl_session_id(p->session) == session)
            return p;
    }
    return NULL;
}

/* Counts what a handle that retains may have left behind: each call that ended without a grant may
 * have an attempt whose create or delete is on its way. The next attempt does not wait for that. */
static unsigned count_left_behind(const struct stage *stage, const struct client *p, int line)
{
    unsigned count = 0;

    for (guint i = 0; p->retains[line] && i < stage->acquisitions->len; i++) {
        const struct acquisition *a = stage->acquisitions->pdata[i];
        count += a->process == p && a->path == line && a->completed && a->code != 0;
    }
    return count;
}

/* The handle of a tenure makes its next node before the last one goes. A node that its owner could
 * not list may be left behind. A lock at both paths is no mutex. */
static void check_crowd(struct stage *stage, const struct contender_node *own)
{
    const struct client *p = own->line < PATHS ? client_of(stage, own->session) : NULL;
    unsigned count = 0;

    if (!p || p->locks_both || stage->oracle.refusing || client_sharing || client_counting)
        return;
    for (guint i = 0; i < stage->oracle.standing->len; i++) {
        const struct contender_node *n = stage->oracle.standing->pdata[i];
        count += n->session == own->session && n->line == own->line && !n->undone && !n->stray;
    }
    if (count > p->may_have[own->line] + count_left_behind(stage, p, own->line))
        stage_wrong(stage, "the mutexes of one process have %u nodes on %s, and may have %u", count,
                    client_paths[own->line], p->may_have[own->line]);
}

static void add(struct stage *stage, const struct note *note)
{
    struct oracle *o = &stage->oracle;
    const char *number = find_number(note->path);

    if (!number || note->session == 0 || client_line(note->path) < 0)
        return;
    struct contender_node *before = nodes_find(o, note->path);
    if (before && (!before->gone || (before->zxid >= note->zxid && !before->undone))) {
        stage_wrong(stage, "the world makes %s twice", note->path);
        return;
    }
    g_ptr_array_remove(o->taken, before);
    struct contender_node *n = g_new0(struct contender_node, 1);
    n->path = g_strdup(note->path);
    n->number = strtoll(number, NULL, 10);
    n->line = client_line(note->path);
    n->session = note->session;
    n->zxid = note->zxid;
    n->reader = g_strrstr(n->path, "-__READ__") != NULL;
    n->writer = g_strrstr(n->path, "-__WRIT__") != NULL;
    permits_note_name(n);
    if (before) {
        g_hash_table_steal(o->nodes, before->path);
        g_ptr_array_add(o->earlier, before);
    }
    g_hash_table_insert(o->nodes, n->path, n);
    g_ptr_array_add(o->standing, n);
    n->late = nodes_before(o, n) != NULL;
    n->stray = note->late;
    check_crowd(stage, n);
    look_who_is_first(stage, n->line);
}

bool nodes_was_taken(const struct contender_node *n)
{
    return n->cause == CAUSE_FORCED || n->cause == CAUSE_ADMIN;
}

/* The owner of the first that stands behind it, whatever its layout; 0: none does. */
static int64_t next_of(const struct oracle *o, const struct contender_node *own)
{
    const struct contender_node *next = NULL;

    for (guint i = 0; i < o->standing->len; i++) {
        const struct contender_node *n = o->standing->pdata[i];
        if (client_place(n->line) == client_place(own->line) && n->number > own->number &&
            (!next || n->number < next->number))
            next = n;
    }
    return next ? next->session : 0;
}

static void remove_node(struct stage *stage, const struct note *note)
{
    struct oracle *o = &stage->oracle;
    struct contender_node *n = nodes_find(o, note->path);

    if (!n || n->gone)
        return;
    n->gone = true;
    n->cause = note->cause;
    n->gone_at = stage_now(stage);
    g_ptr_array_remove(o->standing, n);
    g_ptr_array_add(o->fallen, n);
    look_who_is_first(stage, n->line);
    n->next = next_of(o, n);
    if (nodes_was_taken(n)) {
        n->behind = client_counting ? n->room == 0 : nodes_before(o, n) != NULL;
        g_ptr_array_add(o->taken, n);
    }
}

static void undo(struct oracle *o, struct contender_node *n, bool stands)
{
    n->undone = true;
    n->gone = !stands;
    n->woken = 0;
    if (stands) { /* and whatever was asked while it was gone says nothing of it now */
        n->behind = false;
        n->proof = 0;
        n->known_in = 0;
        g_ptr_array_remove(o->taken, n);
        g_ptr_array_add(o->standing, n);
        return;
    }
    n->cause = CAUSE_ADMIN; /* an exception as any other of a third party */
    g_ptr_array_remove(o->standing, n);
    g_ptr_array_add(o->fallen, n);
    waking_shake(o, n->session);
}

/* Nodes are as they were, and tokens begin anew. */
static void restore(struct stage *stage)
{
    struct oracle *o = &stage->oracle;
    GHashTableIter i;
    void *node;

    memset(o->last_token, 0, sizeof o->last_token);
    g_hash_table_iter_init(&i, o->nodes);
    while (g_hash_table_iter_next(&i, NULL, &node)) {
        struct contender_node *n = node;
        uint64_t zxid = 0;
        n->older = true;
        bool stands = world_exists(stage->world, n->path, NULL, &zxid) && zxid == n->zxid;
        if (stands == n->gone)
            undo(o, n, stands);
    }
}

static void hear_event(struct oracle *o, const struct note *note)
{
    if (note->event == STORE_EV_DOWN)
        g_hash_table_add(o->down, g_memdup2(&note->session, sizeof note->session));
    else if (note->event == STORE_EV_UP)
        g_hash_table_remove(o->down, &note->session);
}

/* A write that was sent after the end of a node was answered. From then on, what was read of the
 * node before proves nothing. */
static void hear_write(struct stage *stage, const struct note *note)
{
    const struct oracle *o = &stage->oracle;
    bool done = note->rc == STORE_OK || note->rc == STORE_BADVERSION;

    for (guint i = o->taken->len; i-- > 0;) {
        struct contender_node *n = o->taken->pdata[i];
        if (n->session != note->session)
            continue;
        if (note->kind == NOTE_SENT && n->proof == 0)
            n->proof = note->sequence;
        if (note->kind == NOTE_SENT || !done || n->proof == 0 || note->sequence < n->proof)
            continue;
        n->known_in = stage->tally.steps;
        g_ptr_array_remove_index_fast(o->taken, i);
    }
}

static void hear_answer(struct stage *stage, const struct note *note)
{
    struct oracle *o = &stage->oracle;
    struct contender_node *n = note->path ? nodes_find(o, note->path) : NULL;

    if (note->request == STORE_SET)
        hear_write(stage, note);
    if (note->request == STORE_CREATE && note->rc == STORE_UNKNOWN && note->path)
        g_hash_table_add(o->doubtful, g_strdup(note->path));
    if (n && n->session == note->session && note->request == STORE_GET && note->rc == STORE_NOAUTH)
        n->refused_at = stage_now(stage);
}

void nodes_note(struct stage *stage, const struct note *note)
{
    struct oracle *o = &stage->oracle;

    switch (note->kind) {
    case NOTE_CREATED:
        add(stage, note);
        break;
    case NOTE_DELETED:
        remove_node(stage, note);
        break;
    case NOTE_RESTORED:
        restore(stage);
        break;
    case NOTE_EVENT:
        hear_event(o, note);
        break;
    case NOTE_SENT:
        if (note->request == STORE_SET)
            hear_write(stage, note);
        break;
    case NOTE_ANSWERED:
        hear_answer(stage, note);
        break;
    default:
        break;
    }
    waking_note(stage, note);
}

bool nodes_was_granted(const struct stage *stage, const struct contender_node *n)
{
    for (guint i = 0; i < stage->acquisitions->len; i++)
        if (acquisition_has_node(stage->acquisitions->pdata[i], n->path))
            return true;
    return false;
}

/* By a late create of the same attempt: what stands behind one waits for both. */
static bool is_own_stray(const struct contender_node *n, const struct contender_node *own)
{
    const size_t length = (size_t)(find_number(n->path) - n->path);

    return n->stray && strncmp(n->path, own->path, length) == 0 &&
           find_number(own->path) == own->path + length;
}

const struct contender_node *nodes_before(const struct oracle *o, const struct contender_node *own)
{
    for (guint i = 0; i < o->standing->len; i++) {
        const struct contender_node *n = o->standing->pdata[i];
        if (is_usable(n->number) && !n->undone && n->number < own->number &&
            !is_own_stray(n, own) && !(n->reader && own->reader) &&
            client_place(n->line) == client_place(own->line))
            return n;
    }
    return NULL;
}

bool nodes_is_adopted(const struct oracle *o, const char *path)
{
    const char *number = find_number(path);
    char *sent = g_strndup(path, (gsize)(number - path));
    bool adopted = g_hash_table_contains(o->doubtful, sent);

    g_free(sent);
    return adopted;
}

int64_t oracle_restored(const struct stage *stage)
{
    const GPtrArray *standing = stage->oracle.standing;

    for (guint i = 0; i < standing->len; i++) {
        const struct contender_node *n = standing->pdata[i];
        if (n->undone)
            return n->session;
    }
    return 0;
}

const char *oracle_some_node(struct stage *stage)
{
    const GPtrArray *standing = stage->oracle.standing;

    if (standing->len == 0)
        return NULL;
    return ((struct contender_node *)standing->pdata[stage_below(stage, standing->len)])->path;
}
