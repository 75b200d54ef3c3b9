#include "permits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "parts.h"
#include "recipes/limit.h"
#include "stage.h"

/* ---- limits ---- */

/* From then on until the next. */
struct limit {
    int32_t limit;
    int64_t at;
};

static void limit_log_init(struct oracle *o)
{
    const struct limit none = {0, 0};

    for (int i = 0; i < LINES; i++) {
        o->limits[i] = g_array_new(FALSE, FALSE, sizeof(struct limit));
        g_array_append_val(o->limits[i], none);
    }
}

static void limit_log_clear(struct oracle *o)
{
    for (int i = 0; i < LINES; i++)
        g_array_unref(o->limits[i]);
}

int32_t limit_log_now(const struct oracle *o, int line)
{
    return g_array_index(o->limits[line], struct limit, o->limits[line]->len - 1).limit;
}

void limit_log_agree(struct stage *stage, int line, int32_t limit)
{
    const struct limit agreed = {limit, stage_now(stage)};

    g_array_append_val(stage->oracle.limits[line], agreed);
}

/* ---- what is noted ---- */

/* In Curator's layout the data say nothing. */
static void learn(struct stage *stage, int line, const char *data, size_t length)
{
    if (!client_leasing)
        limit_log_agree(stage, line, data ? limit_read(data, length) : 0);
}

static void restore(struct stage *stage)
{
    size_t length;

    for (int line = 0; line < PATHS; line++) {
        const char *data = world_data(stage->world, client_paths[line], &length);
        learn(stage, line, data, length);
    }
}

static void limit_log_note(struct stage *stage, const struct note *note)
{
    if (note->kind == NOTE_RESTORED) {
        restore(stage);
        return;
    }
    for (int line = 0; line < PATHS; line++) {
        if (strcmp(note->path, client_paths[line]) == 0)
            learn(stage, line, note->kind == NOTE_DELETED ? NULL : note->data, note->length);
    }
}

/* ---- failures ---- */

static bool explains(const struct acquisition *a, int32_t limit)
{
    if (a->code == ZKL_ELIMIT)
        return limit > 0 && limit < a->permits;
    return limit == 0 && !a->names_limit;
}

bool limit_log_explains(const struct stage *stage, const struct acquisition *a)
{
    const GArray *limits = stage->oracle.limits[a->path];

    for (guint i = limits->len; client_counting && i-- > 0;) {
        const struct limit *l = &g_array_index(limits, struct limit, i);
        if (explains(a, l->limit))
            return true;
        if (l->at < a->entered_at)
            break;
    }
    return false;
}

/* ---- rules ---- */

void permits_init(struct oracle *o)
{
    o->believing = g_ptr_array_new();
    limit_log_init(o);
}

void permits_clear(struct oracle *o)
{
    limit_log_clear(o);
    g_ptr_array_unref(o->believing);
}

/* ---- what is noted ---- */

/* "-n3-lease-" asks for three, "-s3-lease-" for three with numbers. */
void permits_note_name(struct contender_node *n)
{
    const char *word = g_strrstr(n->path, "-lease-"), *at = word;

    n->permits = 1;
    while (at && at > n->path && g_ascii_isdigit(at[-1]))
        at--;
    if (at == word || (!g_str_has_prefix(at - 2, "-n") && !g_str_has_prefix(at - 2, "-s")))
        return;
    n->permits = (uint32_t)strtoul(at, NULL, 10);
    n->numbered = at[-1] == 's';
}

/* Leases are counted in no order, whatever their numbers. */
static bool counts_for(const struct contender_node *n, const struct contender_node *own)
{
    return n->line == own->line && (n == own || !n->undone) &&
           (client_leasing || (nodes_is_usable(n) && n->number <= own->number));
}

/* The permits of all contenders that stand before own, and its own. If the servers had lost a node
 * and have it again, it may be missing in the list that a contender took meanwhile. */
static uint64_t permits_up_to(const struct oracle *o, const struct contender_node *own)
{
    uint64_t sum = 0;

    for (guint i = 0; i < o->standing->len; i++) {
        const struct contender_node *n = o->standing->pdata[i];
        if (counts_for(n, own))
            sum += n->permits;
    }
    return sum;
}

static bool has_room(const struct oracle *o, const struct contender_node *n)
{
    return nodes_is_usable(n) && permits_up_to(o, n) <= (uint64_t)limit_log_now(o, n->line);
}

static void note_room(const struct oracle *o)
{
    for (guint i = 0; i < o->standing->len; i++) {
        struct contender_node *n = o->standing->pdata[i];
        if (has_room(o, n))
            n->room = MAX(n->room, limit_log_now(o, n->line));
    }
}

static void note_data(const struct stage *stage, const struct note *note)
{
    struct contender_node *n = nodes_find(&stage->oracle, note->path);

    if (n && !note->host)
        n->overwritten = true;
}

static void note_made(struct stage *stage, const struct note *note)
{
    const struct contender_node *n = nodes_find(&stage->oracle, note->path);

    if (n && client_leasing && n->line < PATHS && !nodes_had_lock(&stage->oracle, n))
        stage_wrong(stage, "%s is made, though its owner never had the lock", n->path);
}

void permits_note(struct stage *stage, const struct note *note)
{
    if (!client_counting)
        return;
    if (note->kind > NOTE_CHANGED && note->kind != NOTE_RESTORED)
        return;
    limit_log_note(stage, note);
    if (note->kind == NOTE_CHANGED)
        note_data(stage, note);
    if (note->kind == NOTE_CREATED)
        note_made(stage, note);
    note_room(&stage->oracle);
    struct contender_node *n =
        note->kind == NOTE_CREATED ? nodes_find(&stage->oracle, note->path) : NULL;
    if (n)
        n->late = n->room == 0;
}

/* ---- grants ---- */

static void wrong(struct stage *stage, const struct acquisition *a, const char *what)
{
    char *name = acquisition_name(a);

    stage_wrong(stage, "%s on %s (%s): %s", name, client_paths[a->path], a->node, what);
    g_free(name);
}

static void check_slots(struct stage *stage, struct acquisition *a, const struct contender_node *n)
{
    zkl_part parts[PERMITS_MAX];
    const size_t of_grant = parts_of(a->grant, parts, PERMITS_MAX);
    int count = 0;

    for (size_t i = 0; i < MIN(of_grant, PERMITS_MAX); i++)
        if (parts[i].slot != -1)
            a->slots[count++] = parts[i].slot;
    if (count != (a->numbered ? a->permits : 0))
        wrong(stage, a, "has more or fewer numbers than permits");
    for (int i = 0; i < count; i++)
        if (a->slots[i] < 0 || a->slots[i] >= n->room || (i > 0 && a->slots[i] <= a->slots[i - 1]))
            wrong(stage, a, "has numbers that are not in order, or not below the limit");
}

/* Checks the other leases, if there are several. */
static void check_more(struct stage *stage, const struct acquisition *a)
{
    for (int i = 0; i < PERMITS_MAX && a->more[i]; i++) {
        const struct contender_node *n = nodes_find(&stage->oracle, a->more[i]);
        if (!n || n->line != a->path || n->room == 0)
            wrong(stage, a, "is granted, but there was never room for all of it");
    }
}

void permits_check_grant(struct stage *stage, struct acquisition *a, const struct contender_node *n)
{
    struct tally *t = &stage->tally;

    if (n->room == 0)
        wrong(stage, a, "is granted, but there was never room for it");
    else if ((int)n->permits != (client_leasing ? 1 : a->permits) || n->numbered != a->numbered)
        wrong(stage, a, "is granted something else than was asked for");
    else
        check_slots(stage, a, n);
    check_more(stage, a);
    t->handovers += n->late;
    t->numbered += a->numbered;
    t->several += a->permits > 1;
    t->served += stage->calm && n->late && stage->oracle.holding->len > 1;
}

static bool share_a_number(const struct acquisition *a, const struct acquisition *b)
{
    for (int i = 0; a->numbered && i < a->permits; i++)
        for (int k = 0; b->numbered && k < b->permits; k++)
            if (a->slots[i] == b->slots[k])
                return true;
    return false;
}

/* sum: the permits of a, and of those that believe on its path and are before it in line. Leases
 * are in no line: there, all that believe on the path count. */
static void check_sum(struct stage *stage, const struct acquisition *a, int32_t room, int64_t sum)
{
    if (sum <= room)
        return;
    char *text = g_strdup_printf(
        "it and those before it hold %" PRId64 " permits, and the limit was %" PRId32, sum, room);
    wrong(stage, a, text);
    g_free(text);
}

static void check_believer(struct stage *stage, const struct acquisition *a)
{
    const GPtrArray *believing = stage->oracle.believing;
    const struct contender_node *own = nodes_find(&stage->oracle, a->node);
    int64_t sum = 0;

    for (guint i = 0; i < believing->len; i++) {
        const struct acquisition *b = believing->pdata[i];
        const struct contender_node *n = nodes_find(&stage->oracle, b->node);
        if (b->path != a->path || (!client_leasing && n->number > own->number))
            continue;
        sum += b->permits;
        if (b != a && share_a_number(a, b))
            wrong(stage, a, "has a number that another has, too");
    }
    check_sum(stage, a, own->room, sum);
}

void permits_check_believing(struct stage *stage)
{
    GPtrArray *believing = stage->oracle.believing;

    for (guint i = 0; i < believing->len; i++)
        check_believer(stage, believing->pdata[i]);
    g_ptr_array_set_size(believing, 0);
}

/* ---- when all is well ---- */

/* Numbers that somebody has written over are not known as long as their node stands. */
static bool lacks_numbers(const struct oracle *o, const struct contender_node *own)
{
    for (guint i = 0; own->numbered && i < o->standing->len; i++) {
        const struct contender_node *n = o->standing->pdata[i];
        if (n->line == own->line && n->numbered && n->overwritten && n->number < own->number)
            return true;
    }
    return false;
}

/* In Curator's layout somebody always waits for the lock, or waits with it, until all leases are
 * had, or fewer are left than one of them wants. */
static bool has_unused_leases(const struct stage *stage, int path)
{
    const struct oracle *o = &stage->oracle;
    int32_t had = 0, wanted = 0;

    for (guint i = 0; i < o->standing->len; i++) {
        const struct contender_node *n = o->standing->pdata[i];
        had += n->line == path && nodes_was_granted(stage, n);
    }
    for (guint i = 0; i < stage->acquisitions->len; i++) {
        const struct acquisition *a = stage->acquisitions->pdata[i];
        if (a->path == path && !a->completed && !a->abandoned)
            wanted = MAX(wanted, a->permits);
    }
    return wanted > 0 && had + wanted <= limit_log_now(o, path);
}

/* The path of a node that waits in vain, or of a semaphore where somebody does; NULL: none. */
static const char *where_one_waits_in_vain(const struct stage *stage)
{
    const struct oracle *o = &stage->oracle;

    for (guint i = 0; i < o->standing->len; i++) {
        const struct contender_node *n = o->standing->pdata[i];
        if (has_room(o, n) && !n->undone && !nodes_was_granted(stage, n) && !lacks_numbers(o, n))
            return n->path;
    }
    for (int path = 0; client_leasing && path < PATHS; path++)
        if (has_unused_leases(stage, path))
            return client_paths[path];
    return NULL;
}

bool permits_are_used(const struct stage *stage)
{
    return where_one_waits_in_vain(stage) == NULL;
}

void permits_at_rest(struct stage *stage)
{
    const char *path = where_one_waits_in_vain(stage);

    if (path)
        stage_wrong(stage, "%s is not granted, though there is room and all is well", path);
}
