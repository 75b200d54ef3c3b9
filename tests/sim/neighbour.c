#include "neighbour.h"

#include <string.h>

#include "client.h"
#include "lib/lock/contender.h"
#include "recipes/head_hint.h"
#include "unit/seeded.h"

/* Another than that of the schedule and of elections; one that leaves seeds without (seeds.c). */
#define STREAM UINT64_C(0x6e65696768622d2f)

enum { STANDING_MAX = 3, NUMBER_MAX = 40, STYLES_PERCENT = 40, CHILDREN_PERCENT = 30 };

struct neighbour {
    char *path;
    enum neighbour_form form;
    int64_t number;
    uint64_t zxid;
    bool gone;
    int64_t gone_at;
};

/* Before and behind a serial number. locks, apache: whether a lock waits for it, and one with a
 * peer of Apache's. */
static const struct {
    const char *before, *behind;
    bool locks, apache, foreign;
} forms[NEIGHBOURS] = {
    [NEIGHBOUR_LOCK] = {"x", "-lock-", true, true, false},
    [NEIGHBOUR_APACHE] = {"x-", "-", false, true, false},
    [NEIGHBOUR_APACHE_NEGATIVE] = {"x--", "-", false, true, false},
    [NEIGHBOUR_READER] = {"r", "__READ__", false, false, false},
    [NEIGHBOUR_KAZOO_READER] = {"r", "__rlock__", false, false, false},
    [NEIGHBOUR_WRITER] = {"w", "__WRIT__", false, false, false},
    [NEIGHBOUR_LEASE] = {"l", "-lease-", false, false, false},
    [NEIGHBOUR_FOREIGN] = {"o", "-other-", false, false, true},
};

/* ---- chance ---- */

static uint32_t below(struct cast *cast, uint32_t n)
{
    return seeded_below(&cast->beside, n);
}

static int64_t soon(struct cast *cast)
{
    return stage_now(cast->stage) +
           (int64_t)(seeded_next(&cast->beside) % (uint64_t)(cast->timeout_ms * INT64_C(1000000)));
}

void neighbours_draw(struct cast *cast, uint64_t seed)
{
    cast->beside = seed ^ STREAM;
    cast->styles = below(cast, 100) < STYLES_PERCENT;
    cast->plants = below(cast, 100) < CHILDREN_PERCENT;
}

bool neighbours_kazoo(struct cast *cast)
{
    return cast->styles && below(cast, 2);
}

/* ---- putting them there ---- */

void neighbour_free(void *neighbour)
{
    struct neighbour *n = neighbour;

    g_free(n->path);
    g_free(n);
}

const char *neighbour_place(struct stage *stage, int line, enum neighbour_form form, int32_t number)
{
    struct neighbour *n = g_new0(struct neighbour, 1);

    n->form = form;
    n->number = number;
    n->path = g_strdup_printf("%s/%s%u%s%010d", client_paths[line], forms[form].before,
                              stage->neighbours->len + 1, forms[form].behind, number);
    if (world_admin_create(stage->world, n->path, NULL, false) &&
        world_exists(stage->world, n->path, NULL, &n->zxid)) {
        g_ptr_array_add(stage->neighbours, n);
        return n->path;
    }
    neighbour_free(n);
    return NULL;
}

/* On an election's path none that an observer would take for a candidate. */
static void plant(struct cast *cast)
{
    bool election = cast->seats > 0 && below(cast, 2);
    int line = election ? LINE_LATCH : (int)below(cast, cast->paths);
    enum neighbour_form form = (enum neighbour_form)below(cast, NEIGHBOURS);
    int32_t number = below(cast, 20) ? (int32_t)below(cast, NUMBER_MAX) : INT32_MAX;

    if (!election || form != NEIGHBOUR_LOCK)
        neighbour_place(cast->stage, line, form, number);
}

/* The first that stands, or the last of them; NULL: none does. */
static struct neighbour *standing(const struct stage *stage, unsigned *ret_count)
{
    struct neighbour *first = NULL;

    *ret_count = 0;
    for (guint i = 0; i < stage->neighbours->len; i++) {
        struct neighbour *n = stage->neighbours->pdata[i];
        *ret_count += !n->gone;
        if (!n->gone && !first)
            first = n;
    }
    return first;
}

static void on_act(void *data)
{
    struct cast *cast = data;
    unsigned count;
    const struct neighbour *first = standing(cast->stage, &count);

    if (cast->stage->calm)
        return;
    if (first && (count == STANDING_MAX || below(cast, 2)))
        world_admin_delete(cast->stage->world, first->path);
    else
        plant(cast);
    cast->planting.at = soon(cast);
}

void neighbours_start(struct cast *cast)
{
    cast->planting = (struct alarm){cast->plants ? soon(cast) : NEVER, NULL, on_act, cast};
    stage_add_alarm(cast->stage, &cast->planting);
}

/* Once there is a leader again, nobody refuses. */
static void on_calm(void *data)
{
    struct cast *cast = data;
    const struct neighbour *first;
    unsigned count;

    while ((first = standing(cast->stage, &count)) &&
           world_admin_delete(cast->stage->world, first->path))
        ;
    cast->planting.at = first ? stage_now(cast->stage) + cast->tick_ms * INT64_C(1000000) : NEVER;
}

void neighbours_calm(struct cast *cast)
{
    cast->planting.fn = on_calm;
    cast->planting.at = stage_now(cast->stage);
}

void neighbours_note(struct stage *stage, const struct note *note)
{
    if (note->kind != NOTE_DELETED)
        return;
    for (guint i = 0; i < stage->neighbours->len; i++) {
        struct neighbour *n = stage->neighbours->pdata[i];
        if (n->gone || strcmp(n->path, note->path) != 0)
            continue;
        n->gone = true;
        n->gone_at = stage_now(stage);
    }
}

/* ---- what they may do ---- */

static bool is_waited_for(const struct neighbour *n, int line, zkl_peer peer)
{
    if (client_has_latches(line))
        return false;
    return peer == ZKL_PEER_APACHE ? forms[n->form].apache : forms[n->form].locks;
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

/* Whether that number is before that of some contender of the line which stood since then. */
static bool is_first(const struct stage *stage, int line, int64_t number, int64_t since)
{
    bool usable = number >= 0 && number < INT32_MAX;
    GHashTableIter i;
    void *data;

    g_hash_table_iter_init(&i, stage->oracle.nodes);
    while (g_hash_table_iter_next(&i, NULL, &data)) {
        const struct contender_node *n = data;
        if (n->line == line && (!n->gone || n->gone_at >= since) &&
            (!usable || number <= n->number))
            return true;
    }
    return false;
}

bool neighbours_explain(const struct stage *stage, int line, zkl_peer peer, bool strict,
                        const char *text, int64_t since)
{
    char *path = named(text, line);
    const struct contender_node *node = nodes_find(&stage->oracle, path);
    bool explains = node && client_has_latches(node->line) != client_has_latches(line) &&
                    (!node->gone || node->gone_at >= since) &&
                    is_first(stage, line, node->number, since);

    for (guint i = 0; i < stage->neighbours->len && !explains; i++) {
        const struct neighbour *n = stage->neighbours->pdata[i];
        explains = strcmp(n->path, path) == 0 && (!n->gone || n->gone_at >= since) &&
                   (forms[n->form].foreign
                        ? strict
                        : !is_waited_for(n, line, peer) && is_first(stage, line, n->number, since));
    }
    g_free(path);
    return explains;
}

/* To be waited for, but made with a low number when one ahead of own had come already: who goes by
 * the hint of that one does not see it. */
static bool is_passed_over(const struct stage *stage, const struct neighbour *n,
                           const struct contender_node *own)
{
    GHashTableIter i;
    void *data;

    if (contender_long_queue == LONG_QUEUE || !forms[n->form].apache)
        return false;
    g_hash_table_iter_init(&i, stage->oracle.nodes);
    while (g_hash_table_iter_next(&i, NULL, &data)) {
        const struct contender_node *ahead = data;
        if (ahead->line == own->line && ahead->number < own->number && ahead->zxid < n->zxid)
            return true;
    }
    return false;
}

const char *neighbours_forbid(const struct stage *stage, const struct acquisition *a,
                              const struct contender_node *own)
{
    for (guint i = 0; i < stage->neighbours->len; i++) {
        const struct neighbour *n = stage->neighbours->pdata[i];
        bool before = n->number == INT32_MAX || n->number <= own->number;
        if (n->gone || n->zxid > own->zxid || !is_in(n->path, a->path))
            continue;
        if (forms[n->form].foreign ? a->strict : before && !is_passed_over(stage, n, own))
            return n->path;
    }
    return NULL;
}
