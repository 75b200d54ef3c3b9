#include "hold.h"

/* What the passing events leave open for each process, found by its pid. */
struct sweep {
    holds *h;
    GHashTable *open_hold; /* pid -> 1 + index into list */
    GHashTable *open_wait; /* pid -> 1 + index into waits */
    int paths;
};

static hold *open_hold(struct sweep *s, int pid)
{
    gpointer at = g_hash_table_lookup(s->open_hold, GINT_TO_POINTER(pid));

    return at ? &g_array_index(s->h->list, hold, (guint)GPOINTER_TO_INT(at) - 1) : NULL;
}

static wait_for *open_wait(struct sweep *s, int pid)
{
    gpointer at = g_hash_table_lookup(s->open_wait, GINT_TO_POINTER(pid));

    return at ? &g_array_index(s->h->waits, wait_for, (guint)GPOINTER_TO_INT(at) - 1) : NULL;
}

static void set_open(GHashTable *table, int pid, guint length)
{
    g_hash_table_insert(table, GINT_TO_POINTER(pid), GINT_TO_POINTER((int)length));
}

static int first_path(unsigned paths)
{
    return g_bit_nth_lsf(paths, -1);
}

static claim claim_of(const event *e, int paths)
{
    claim c = claim_unpack(e->value);

    if (c.paths == 0)
        c.paths = 1u << e->worker % paths;
    return c;
}

static void begin_wait(struct sweep *s, const event *e)
{
    const claim c = claim_of(e, s->paths);
    wait_for w = {.claim = c,
                  .path = first_path(c.paths),
                  .worker = e->worker,
                  .pid = e->pid,
                  .since = e->ns,
                  .end = INT64_MAX};

    g_array_append_val(s->h->waits, w);
    set_open(s->open_wait, e->pid, s->h->waits->len);
}

static void end_wait(struct sweep *s, const event *e, bool served)
{
    wait_for *w = open_wait(s, e->pid);

    if (!w)
        return;
    w->end = e->ns;
    w->served = served;
    w->spared = e->kind == EV_SPARED;
    g_hash_table_remove(s->open_wait, GINT_TO_POINTER(e->pid));
}

static void see(hold *n, const event *e)
{
    if (e->value <= 0)
        return;
    n->seen = MAX(n->seen, e->ns);
    n->until = MAX(n->until, e->ns + e->value * 1000000);
}

static void set_parts(hold *n)
{
    for (int p = first_path(n->claim.paths); p >= 0; p = g_bit_nth_lsf(n->claim.paths, p)) {
        g_assert(n->parts < CLAIM_PARTS_MAX);
        n->part[n->parts++] = (hold_part){.path = p, .third_party = INT64_MAX};
    }
    n->path = n->part[0].path;
    n->part[0].token = n->token;
}

static void begin_hold(struct sweep *s, const event *e)
{
    wait_for *w = open_wait(s, e->pid);
    hold n = {.claim = w ? w->claim : (claim){.paths = 1u << e->worker % s->paths},
              .worker = e->worker,
              .pid = e->pid,
              .token = e->token,
              .turn = e->turn,
              .want = w ? w->since : 0,
              .start = e->ns,
              .end = INT64_MAX,
              .third_party = INT64_MAX};

    set_parts(&n);
    see(&n, e);
    end_wait(s, e, true);
    g_array_append_val(s->h->list, n);
    set_open(s->open_hold, e->pid, s->h->list->len);
}

/* A process that is about to be killed may still record what it did before. */
static void end_hold(struct sweep *s, const event *e, hold_end how)
{
    hold *n = open_hold(s, e->pid);

    s->h->ends += !n && how != HOLD_KILLED;
    if (!n)
        return;
    n->end = e->ns;
    n->how = how;
    if (e->kind != EV_KILL)
        g_hash_table_remove(s->open_hold, GINT_TO_POINTER(e->pid));
}

static void count_write(struct sweep *s, const event *e)
{
    hold *n = open_hold(s, e->pid);

    if (n)
        n->writes++;
    else
        s->h->strays++;
}

/* Callbacks, and the answer of unlock, may come when the hold has ended already. */
static hold *by_token(struct sweep *s, const event *e)
{
    for (guint i = s->h->list->len; i > 0; i--) {
        hold *n = &g_array_index(s->h->list, hold, i - 1);

        if (n->pid == e->pid && n->token == e->token && n->turn == e->turn)
            return n;
    }
    return NULL;
}

static void take_word(hold *n, const event *e)
{
    if (!n)
        return;
    n->after += n->told > 0;
    if (e->kind == EV_SUSPECT && n->suspect_at == 0)
        n->suspect_at = e->ns;
    if (e->kind != EV_TOLD)
        return;
    if (n->told++ == 0)
        n->told_at = e->ns;
}

/* They come by number of path. */
static void take_part(hold *n, uint64_t token)
{
    for (int i = 0; i < n->parts; i++) {
        if (n->part[i].token == 0) {
            n->part[i].token = token;
            return;
        }
    }
}

static void take_of_hold(struct sweep *s, const event *e)
{
    hold *n = by_token(s, e);

    if (!n)
        return;
    if (e->kind == EV_OWNER)
        n->session = e->value;
    else if (e->kind == EV_SEEN)
        see(n, e);
    else if (e->kind == EV_PART)
        take_part(n, (uint64_t)e->value);
    else if (e->kind == EV_NUMBERS)
        n->numbers = (uint64_t)e->value;
    else
        n->owed = true;
}

static void take(struct sweep *s, const event *e)
{
    switch (e->kind) {
    case EV_WANT:
        begin_wait(s, e);
        break;
    case EV_GRANT:
        begin_hold(s, e);
        break;
    case EV_OWNER:
    case EV_SEEN:
    case EV_ELOST:
    case EV_PART:
    case EV_NUMBERS:
        take_of_hold(s, e);
        break;
    case EV_SUSPECT:
    case EV_HELD:
    case EV_TOLD:
        take_word(by_token(s, e), e);
        break;
    case EV_SPARED:
        end_wait(s, e, true);
        break;
    case EV_RELEASE:
        end_hold(s, e, HOLD_RELEASED);
        break;
    case EV_LOST:
        end_hold(s, e, HOLD_LOST);
        break;
    case EV_WRITE:
        count_write(s, e);
        break;
    case EV_KILL:
    case EV_DEAD:
        end_wait(s, e, false);
        end_hold(s, e, HOLD_KILLED);
        break;
    default:
        break;
    }
}

static bool is_hit(const hold *n, const hold_part *part, const event *e)
{
    return e->kind == EV_EVICT ? n->session == e->value : part->token == e->token;
}

/* A third party's deed hits every hold of that node or session that is not over by then; a killed
 * holder's is not, for its node stands. */
static void take_third_party(holds *h, const event *e)
{
    for (guint i = 0; i < h->list->len; i++) {
        hold *n = &g_array_index(h->list, hold, i);

        if (n->end <= e->ns && n->how != HOLD_KILLED)
            continue;
        for (int p = 0; p < n->parts; p++) {
            if (!is_hit(n, &n->part[p], e))
                continue;
            n->part[p].third_party = MIN(n->part[p].third_party, e->ns);
            n->third_party = MIN(n->third_party, e->ns);
        }
    }
}

static void believe_to_the_end(holds *h)
{
    for (guint i = 0; i < h->list->len; i++) {
        hold *n = &g_array_index(h->list, hold, i);

        n->seen = n->end;
    }
}

holds *holds_new(const GArray *events, int paths, bool look)
{
    holds *h = g_new0(holds, 1);
    struct sweep s = {h, g_hash_table_new(NULL, NULL), g_hash_table_new(NULL, NULL), paths};

    h->list = g_array_new(FALSE, TRUE, sizeof(hold));
    h->waits = g_array_new(FALSE, TRUE, sizeof(wait_for));
    for (guint i = 0; i < events->len; i++)
        take(&s, &g_array_index(events, event, i));
    for (guint i = 0; i < events->len; i++) {
        const event *e = &g_array_index(events, event, i);

        if (e->kind == EV_DELETE || e->kind == EV_EVICT)
            take_third_party(h, e);
    }
    if (!look)
        believe_to_the_end(h);
    g_hash_table_destroy(s.open_hold);
    g_hash_table_destroy(s.open_wait);
    return h;
}

void holds_free(holds *h)
{
    if (!h)
        return;
    g_array_free(h->list, TRUE);
    g_array_free(h->waits, TRUE);
    g_free(h);
}

const hold_part *hold_at(const hold *h, int path)
{
    for (int i = 0; i < h->parts; i++)
        if (h->part[i].path == path)
            return &h->part[i];
    return NULL;
}

const hold *holds_during(const holds *h, int worker, int64_t ns)
{
    for (guint i = 0; i < h->list->len; i++) {
        const hold *n = &g_array_index(h->list, hold, i);

        if (n->worker == worker && n->start <= ns && ns < n->end)
            return n;
    }
    return NULL;
}

const hold *holds_next(const holds *h, int64_t ns, int not_worker)
{
    for (guint i = 0; i < h->list->len; i++) {
        const hold *n = &g_array_index(h->list, hold, i);

        if (n->start >= ns && n->worker != not_worker)
            return n;
    }
    return NULL;
}

unsigned claimed_paths(const GArray *events, int paths, int worker)
{
    unsigned all = 0;

    for (guint i = 0; i < events->len; i++) {
        const event *e = &g_array_index(events, event, i);

        if (e->kind == EV_WANT && e->worker == worker)
            all |= claim_of(e, paths).paths;
    }
    return all;
}
