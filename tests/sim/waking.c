#include "waking.h"

#include <string.h>

#include "client.h"
#include "lib/session/core.h"
#include "nodes.h"
#include "onlooker.h"
#include "stage.h"

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

void waking_init(struct oracle *o)
{
    o->shaken = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    o->watching = g_ptr_array_new_with_free_func(free_watching);
}

void waking_clear(struct oracle *o)
{
    g_hash_table_unref(o->shaken);
    g_ptr_array_unref(o->watching);
}

void waking_shake(struct oracle *o, int64_t session)
{
    g_hash_table_add(o->shaken, g_memdup2(&session, sizeof session));
}

static struct watching *find(const struct oracle *o, int64_t session, const char *path)
{
    for (guint i = 0; i < o->watching->len; i++) {
        struct watching *w = o->watching->pdata[i];
        if (w->session == session && strcmp(w->path, path) == 0)
            return w;
    }
    return NULL;
}

static struct watching *add(struct oracle *o, int64_t session, const char *path)
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
    struct watching *w = find(o, note->session, note->path);
    if (!w)
        w = add(o, note->session, note->path);
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
    struct watching *w = is_about_watch(note) ? find(o, note->session, note->path) : NULL;
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
 * again. */
static bool has_parked(const struct stage *stage, const struct host *host)
{
    for (guint i = 0; i < stage->processes->len; i++) {
        const struct client *p = stage->processes->pdata[i];
        if (p->host == host && p->session && !g_queue_is_empty(&p->session->parked))
            return true;
    }
    return false;
}

/* A session whose contender waits for n is not excused. */
static bool is_left_over(const struct stage *stage, const struct note *note,
                         const struct contender_node *n)
{
    const struct watching *w = find(&stage->oracle, note->session, note->path);

    return w && w->left && (w->setting + w->removing > 0 || has_parked(stage, note->host)) &&
           n->next != note->session;
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

void waking_note(struct stage *stage, const struct note *note)
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
