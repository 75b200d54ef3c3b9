#include "foreign_node.h"

#include <string.h>

#include "client.h"
#include "lib/contender/contender.h"
#include "recipes/head_hint.h"

#define MS INT64_C(1000000)

enum { STANDING_MAX = 3, NUMBER_MAX = 40, STYLES_PERCENT = 40, CHILDREN_PERCENT = 30 };

struct foreign_node {
    char *path;
    enum foreign_form form;
    int64_t number;
    uint64_t zxid;
    bool gone;
    int64_t gone_at;
};

/* What stands before and behind the serial number. locks: a lock waits for it. others: a lock of
 * kazoo's style and a candidate do. */
static const struct {
    const char *before, *behind;
    bool locks, others, foreign;
} forms[FOREIGN_FORMS] = {
    [FOREIGN_LOCK] = {"x", "-lock-", true, true, false},
    [FOREIGN_APACHE] = {"x-", "-", true, false, false},
    [FOREIGN_APACHE_NEGATIVE] = {"x--", "-", true, false, false},
    [FOREIGN_READER] = {"r", "__READ__", false, false, false},
    [FOREIGN_KAZOO_READER] = {"r", "__rlock__", false, false, false},
    [FOREIGN_WRITER] = {"w", "__WRIT__", false, false, false},
    [FOREIGN_LEASE] = {"l", "-lease-", false, false, false},
    [FOREIGN_NONE] = {"o", "-other-", false, false, true},
};

bool foreign_nodes_kazoo(struct roles *roles)
{
    return roles->styles && stream_below(&roles->foreign, 2);
}

/* ---- putting them there ---- */

void foreign_node_free(void *foreign_node)
{
    struct foreign_node *n = foreign_node;

    g_free(n->path);
    g_free(n);
}

const char *foreign_node_place(struct stage *stage, int line, enum foreign_form form,
                               int32_t number)
{
    struct foreign_node *n = g_new0(struct foreign_node, 1);

    n->form = form;
    n->number = number;
    n->path = g_strdup_printf("%s/%s%u%s%010d", client_paths[line], forms[form].before,
                              stage->foreign_nodes->len + 1, forms[form].behind, number);
    if (world_admin_create(stage->world, n->path, NULL, false) &&
        world_exists(stage->world, n->path, NULL, &n->zxid)) {
        g_ptr_array_add(stage->foreign_nodes, n);
        return n->path;
    }
    foreign_node_free(n);
    return NULL;
}

/* On an election's path none that an observer would take for a candidate. */
static void put_foreign_node(struct roles *roles)
{
    bool election = roles->actors > 0 && stream_below(&roles->foreign, 2);
    int line = election ? LINE_LATCH : (int)stream_below(&roles->foreign, roles->paths);
    enum foreign_form form = (enum foreign_form)stream_below(&roles->foreign, FOREIGN_FORMS);
    int32_t number = stream_below(&roles->foreign, 20)
                         ? (int32_t)stream_below(&roles->foreign, NUMBER_MAX)
                         : INT32_MAX;

    if (!election || form != FOREIGN_LOCK)
        foreign_node_place(roles->stage, line, form, number);
}

/* The first that stands, or the last of them; NULL: none does. */
static struct foreign_node *standing(const struct stage *stage, unsigned *ret_count)
{
    struct foreign_node *first = NULL;

    *ret_count = 0;
    for (guint i = 0; i < stage->foreign_nodes->len; i++) {
        struct foreign_node *n = stage->foreign_nodes->pdata[i];
        *ret_count += !n->gone;
        if (!n->gone && !first)
            first = n;
    }
    return first;
}

static void on_act(void *data)
{
    struct stream *s = data;
    struct roles *roles = s->roles;
    unsigned count;
    const struct foreign_node *first = standing(roles->stage, &count);

    if (roles->stage->calm)
        return;
    if (first && (count == STANDING_MAX || stream_below(s, 2)))
        world_admin_delete(roles->stage->world, first->path);
    else
        put_foreign_node(roles);
    stream_wait(s, roles->timeout_ms * MS - 1);
}

void foreign_nodes_draw(struct roles *roles)
{
    struct stream *s = &roles->foreign;

    stream_begin(s, roles, UINT64_C(0x6e65696768622d2f), on_act);
    roles->styles = stream_chance(s, STYLES_PERCENT);
    if (stream_chance(s, CHILDREN_PERCENT))
        stream_wait(s, roles->timeout_ms * MS - 1);
}

/* Once there is a leader again, nobody refuses. */
static void on_calm(void *data)
{
    struct stream *s = data;
    struct roles *roles = s->roles;
    const struct foreign_node *first;
    unsigned count;

    while ((first = standing(roles->stage, &count)) &&
           world_admin_delete(roles->stage->world, first->path))
        ;
    if (first)
        stream_wait_exactly(s, roles->tick_ms * MS);
}

void foreign_nodes_calm(struct roles *roles)
{
    roles->foreign.act.fn = on_calm;
    stream_wait_exactly(&roles->foreign, 0);
}

void foreign_nodes_note(struct stage *stage, const struct note *note)
{
    if (note->kind != NOTE_DELETED)
        return;
    for (guint i = 0; i < stage->foreign_nodes->len; i++) {
        struct foreign_node *n = stage->foreign_nodes->pdata[i];
        if (n->gone || strcmp(n->path, note->path) != 0)
            continue;
        n->gone = true;
        n->gone_at = stage_now(stage);
    }
}

/* ---- what they may do ---- */

static bool is_waited_for(const struct foreign_node *n, int line, zkl_peer peer)
{
    if (client_has_latches(line))
        return false;
    return line < PATHS && peer == ZKL_PEER_CURATOR ? forms[n->form].locks : forms[n->form].others;
}

static bool is_in(const char *path, int line)
{
    size_t length = strlen(client_paths[line]);

    return strncmp(path, client_paths[line], length) == 0 && path[length] == '/';
}

/* What the sentence names, in that directory; free it. */
static char *named(const char *text, int line)
{
    const char *begin = strchr(text, '"'), *end = begin ? strchr(begin + 1, '"') : NULL;

    if (!end)
        return g_strdup("");
    return g_strdup_printf("%s/%.*s", client_paths[line], (int)(end - begin - 1), begin + 1);
}

/* The last number is before the low ones: it may be there since before these came again. */
static bool comes_before(int64_t number, int64_t own)
{
    return number <= own || (number == INT32_MAX && own < INT32_MAX / 2);
}

/* Whether that number is before that of some contender of the line which stood since then. */
static bool is_first(const struct stage *stage, int line, int64_t number, int64_t since)
{
    GHashTableIter i;
    void *data;

    g_hash_table_iter_init(&i, stage->oracle.nodes);
    while (g_hash_table_iter_next(&i, NULL, &data)) {
        const struct contender_node *n = data;
        if (n->line == line && (!n->gone || n->gone_at >= since) && comes_before(number, n->number))
            return true;
    }
    return false;
}

bool foreign_nodes_explain(const struct stage *stage, int line, zkl_peer peer, const char *text,
                           int64_t since)
{
    char *path = named(text, line);
    const struct contender_node *node = nodes_find(&stage->oracle, path);
    bool explains = node && client_has_latches(node->line) != client_has_latches(line) &&
                    (!node->gone || node->gone_at >= since) &&
                    is_first(stage, line, node->number, since);

    for (guint i = 0; i < stage->foreign_nodes->len && !explains; i++) {
        const struct foreign_node *n = stage->foreign_nodes->pdata[i];
        explains = strcmp(n->path, path) == 0 && (!n->gone || n->gone_at >= since) &&
                   !forms[n->form].foreign && !is_waited_for(n, line, peer) &&
                   is_first(stage, line, n->number, since);
    }
    g_free(path);
    return explains;
}

/* Whether own passes the node by. It should wait for the node, but that was made with a low number
 * when a contender ahead of own had come already. A contender that goes by the hint of that one
 * does not see the node. */
static bool is_passed_over(const struct stage *stage, const struct foreign_node *n,
                           const struct contender_node *own)
{
    GHashTableIter i;
    void *data;

    if (contender_long_queue == LONG_QUEUE || !forms[n->form].locks)
        return false;
    g_hash_table_iter_init(&i, stage->oracle.nodes);
    while (g_hash_table_iter_next(&i, NULL, &data)) {
        const struct contender_node *ahead = data;
        if (ahead->line == own->line && ahead->number < own->number && ahead->zxid < n->zxid)
            return true;
    }
    return false;
}

const char *foreign_nodes_forbid(const struct stage *stage, const struct acquisition *a,
                                 const struct contender_node *own)
{
    for (guint i = 0; i < stage->foreign_nodes->len; i++) {
        const struct foreign_node *n = stage->foreign_nodes->pdata[i];
        bool before = comes_before(n->number, own->number);
        if (n->gone || n->zxid > own->zxid || !is_in(n->path, a->path))
            continue;
        if (!forms[n->form].foreign && before && !is_passed_over(stage, n, own))
            return n->path;
    }
    return NULL;
}
