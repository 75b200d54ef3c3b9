#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "stage.h"

enum { DIGITS = 10 };

static const char lock_infix[] = "-lock-";

/* Where the number begins; NULL: it is no contender's name. */
static const char *find_number(const char *path)
{
    const char *infix = g_strrstr(path, lock_infix);

    return infix && infix[strlen(lock_infix)] ? infix + strlen(lock_infix) : NULL;
}

static void free_node(void *node)
{
    struct contender_node *n = node;

    g_free(n->path);
    g_free(n);
}

void oracle_init(struct oracle *o)
{
    o->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_node);
    o->standing = g_ptr_array_new();
    o->fallen = g_ptr_array_new();
    o->holding = g_ptr_array_new();
    o->down = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    o->shaken = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    o->doubtful = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

void oracle_clear(struct oracle *o)
{
    g_ptr_array_unref(o->standing);
    g_ptr_array_unref(o->fallen);
    g_ptr_array_unref(o->holding);
    g_hash_table_unref(o->nodes);
    g_hash_table_unref(o->down);
    g_hash_table_unref(o->shaken);
    g_hash_table_unref(o->doubtful);
}

struct contender_node *nodes_find(const struct oracle *o, const char *path)
{
    return g_hash_table_lookup(o->nodes, path);
}

static void add(struct stage *stage, const struct note *note)
{
    struct oracle *o = &stage->oracle;
    const char *number = find_number(note->path);

    if (!number || note->session == 0)
        return;
    const struct contender_node *before = nodes_find(o, note->path);
    if (before && (!before->gone || before->zxid >= note->zxid)) {
        stage_wrong(stage, "the world makes %s twice", note->path);
        return;
    }
    struct contender_node *n = g_new0(struct contender_node, 1);
    n->path = g_strdup(note->path);
    n->number = strtoll(number, NULL, 10);
    n->session = note->session;
    n->zxid = note->zxid;
    g_hash_table_replace(o->nodes, n->path, n); /* a name may come again with its directory */
    g_ptr_array_add(o->standing, n);
}

bool nodes_was_taken(const struct contender_node *n)
{
    return n->cause == CAUSE_FORCED || n->cause == CAUSE_ADMIN;
}

static void shake(struct oracle *o, int64_t session)
{
    g_hash_table_add(o->shaken, g_memdup2(&session, sizeof session));
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
    if (nodes_was_taken(n)) {
        n->behind = nodes_before(o, n) != NULL;
        shake(o, n->session);
    }
}

/* A session that lost its connection, or the node of a waiter, may not have got rid of every watch
 * yet. */
static void hear_watch(struct stage *stage, const struct note *note)
{
    struct oracle *o = &stage->oracle;
    struct contender_node *n = note->gone ? nodes_find(o, note->path) : NULL;

    if (!n || note->session == n->session || g_hash_table_contains(o->shaken, &note->session))
        return;
    if (n->woken != 0 && n->woken != note->session)
        stage_wrong(stage, "the end of %s wakes more than one waiter", n->path);
    n->woken = note->session;
}

static void hear_event(struct oracle *o, const struct note *note)
{
    if (note->event == STORE_EV_DOWN) {
        shake(o, note->session);
        g_hash_table_add(o->down, g_memdup2(&note->session, sizeof note->session));
    } else if (note->event == STORE_EV_UP) {
        g_hash_table_remove(o->down, &note->session);
    }
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
    case NOTE_WATCH:
        hear_watch(stage, note);
        break;
    case NOTE_EVENT:
        hear_event(o, note);
        break;
    case NOTE_ANSWERED:
        if (note->request == STORE_CREATE && note->rc == STORE_UNKNOWN && note->path)
            g_hash_table_add(o->doubtful, g_strdup(note->path));
        break;
    default:
        break;
    }
}

static bool is_usable(int64_t number)
{
    return number >= 0 && number < INT32_MAX;
}

const struct contender_node *nodes_before(const struct oracle *o, const struct contender_node *own)
{
    size_t directory = (size_t)(strrchr(own->path, '/') - own->path) + 1;

    for (guint i = 0; i < o->standing->len; i++) {
        const struct contender_node *n = o->standing->pdata[i];
        if (is_usable(n->number) && n->number < own->number &&
            strncmp(n->path, own->path, directory) == 0)
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

const char *oracle_some_node(struct stage *stage)
{
    const GPtrArray *standing = stage->oracle.standing;

    if (standing->len == 0)
        return NULL;
    return ((struct contender_node *)standing->pdata[stage_below(stage, standing->len)])->path;
}
