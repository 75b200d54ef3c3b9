/* The way in. Of the contenders of one session on one path so many enter at a time, in the order in
 * which they came; so do those whose nodes went, with their session or with the directory: before
 * all who came later. The server handles their requests in order, and those behind cannot be
 * granted before them; but what thousands had under way at once would lie in memory between what
 * stays, and before the proofs of the session at the server. */
#include "contender_requests.h"
#include "lib/session/incarnation.h"
#include "locks.h"

enum { ABREAST = 32 };

struct door {
    char *path; /* GRefString */
    struct locks *all;
    unsigned users;    /* the contenders, and who opens it */
    unsigned entering; /* have not found their place yet */
    uint32_t arrivals;
    bool opening;
    GSequence *outside; /* of struct contender, the oldest first; NULL: nobody had to wait yet */
};

struct door *door_use(zkl_session *s, char *path)
{
    struct locks *all = locks_of(s);
    struct door *d = g_hash_table_lookup(all->doors, path);

    if (!d) {
        d = g_new0(struct door, 1);
        d->path = g_ref_string_acquire(path);
        d->all = all;
        g_hash_table_insert(all->doors, d->path, d);
    }
    d->users++;
    return d;
}

void door_unuse(struct door *d)
{
    if (--d->users > 0)
        return;
    g_hash_table_remove(d->all->doors, d->path);
    g_ref_string_release(d->path);
    g_clear_pointer(&d->outside, g_sequence_free);
    g_free(d);
}

char *door_path(const struct door *d)
{
    return d->path;
}

/* ---- outside ---- */

/* Numbers may come round. */
static int compare(gconstpointer a, gconstpointer b, gpointer unused)
{
    const struct contender *x = a, *y = b;

    (void)unused;
    return (int32_t)(x->arrival - y->arrival);
}

static void put_outside(struct contender *c)
{
    struct door *d = c->door;

    if (!d->outside)
        d->outside = g_sequence_new(NULL);
    c->progress = OUTSIDE;
    c->place = g_sequence_insert_sorted(d->outside, c, compare, NULL);
}

static void take_inside(struct contender *c)
{
    g_sequence_remove(c->place);
    c->place = NULL;
}

/* NULL: there is none. */
static struct contender *oldest(const struct door *d)
{
    if (!d->outside || g_sequence_is_empty(d->outside))
        return NULL;
    return g_sequence_get(g_sequence_get_begin_iter(d->outside));
}

/* ---- entering ---- */

/* The session is warm or new when it begins: with others there it is, and must not be replaced in
 * the midst of their step. */
static void begin(struct contender *c)
{
    GQueue *contenders = &c->door->all->contenders;

    c->link.data = c;
    g_queue_push_tail_link(contenders, &c->link);
    if (contenders->length == 1)
        incarnation_warm(c->session);
}

static void enter(struct contender *c)
{
    take_inside(c);
    c->progress = ENTERING;
    c->door->entering++;
    if (!c->link.data)
        begin(c);
    contender_step(c, &(struct event){.kind = EV_ENTER});
}

/* One that cannot even send its create is through at once, and would open in turn. */
static void open_door(struct door *d)
{
    struct contender *c;

    if (d->opening || d->all->doors_closed)
        return;
    d->opening = true;
    d->users++;
    while (d->entering < ABREAST && (c = oldest(d)))
        enter(c);
    d->opening = false;
    door_unuse(d);
}

void door_arrive(struct contender *c)
{
    c->arrival = c->door->arrivals++;
    door_enter(c);
}

void door_enter(struct contender *c)
{
    if (c->progress == ENTERING)
        c->door->entering--;
    put_outside(c);
    open_door(c->door);
}

/* Who cannot settle its create may be at it for long. */
static bool is_through(const struct contend *m)
{
    return m->state == ST_WAITING || m->state == ST_CLAIMING || m->state == ST_HOLDING ||
           m->state == ST_DONE || (m->state == ST_LEAVING && m->rounds > 0);
}

void door_passed(struct contender *c)
{
    if (c->progress != ENTERING || !is_through(&c->machine))
        return;
    c->progress = INSIDE;
    c->door->entering--;
    open_door(c->door);
}

void door_leave(struct contender *c)
{
    if (c->place)
        take_inside(c);
    if (c->link.data)
        g_queue_unlink(&c->door->all->contenders, &c->link);
}

/* ---- all of a session ---- */

static void for_all(struct locks *all, void (*fn)(struct door *d, const void *data),
                    const void *data)
{
    GList *doors = g_hash_table_get_values(all->doors);

    for (GList *l = doors; l; l = l->next)
        ((struct door *)l->data)->users++;
    for (GList *l = doors; l; l = l->next) {
        fn(l->data, data);
        door_unuse(l->data);
    }
    g_list_free(doors);
}

void doors_close(struct locks *all)
{
    all->doors_closed = true;
}

static void reopen(struct door *d, const void *unused)
{
    (void)unused;
    open_door(d);
}

void doors_open(struct locks *all)
{
    all->doors_closed = false;
    for_all(all, reopen, NULL);
}

static void turn_away(struct door *d, const void *why)
{
    const zkl_error *e = why;
    int n = d->outside ? g_sequence_get_length(d->outside) : 0;

    for (struct contender *c; n > 0 && (c = oldest(d)); n--)
        contender_abort(c, e->code, e->text);
}

void doors_abort(struct locks *all, const zkl_error *why)
{
    for_all(all, turn_away, why);
}
