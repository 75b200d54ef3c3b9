/* Admission. Of the contenders of one session on one path so many enter at a time, in the order in
 * which they came; so do those whose nodes went, with their session or with the directory: before
 * all who came later. The server handles their requests in order, and those behind cannot be
 * granted before them; but what thousands had under way at once would lie in memory between what
 * stays, and before the proofs of the session at the server. */
#include "contender_state.h"
#include "lib/session/incarnation.h"
#include "local_queue.h"
#include "locks.h"

enum { ABREAST = 32 };

struct admission *admission_use(struct locks *all, char *path)
{
    struct admission *a = g_hash_table_lookup(all->admissions, path);

    if (!a) {
        a = g_new0(struct admission, 1);
        a->path = g_ref_string_acquire(path);
        a->all = all;
        g_hash_table_insert(all->admissions, a->path, a);
    }
    a->users++;
    return a;
}

void admission_unuse(struct admission *a)
{
    if (--a->users > 0)
        return;
    g_hash_table_remove(a->all->admissions, a->path);
    g_ref_string_release(a->path);
    g_clear_pointer(&a->outside, g_sequence_free);
    g_free(a);
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
    struct admission *a = c->admission;

    if (!a->outside)
        a->outside = g_sequence_new(NULL);
    c->progress = OUTSIDE;
    c->place = g_sequence_insert_sorted(a->outside, c, compare, NULL);
}

static void take_inside(struct contender *c)
{
    g_sequence_remove(c->place);
    c->place = NULL;
}

/* NULL: there is none. */
static struct contender *oldest(const struct admission *a)
{
    if (!a->outside || g_sequence_is_empty(a->outside))
        return NULL;
    return g_sequence_get(g_sequence_get_begin_iter(a->outside));
}

/* ---- entering ---- */

/* The session is warm or new when it begins: with others there it is, and must not be replaced in
 * the midst of their step. */
static void begin(struct contender *c)
{
    GQueue *contenders = &c->admission->all->contenders;

    c->link.data = c;
    g_queue_push_tail_link(contenders, &c->link);
    if (contenders->length == 1)
        incarnation_warm(contender_session(c));
}

static void enter(struct contender *c)
{
    take_inside(c);
    c->progress = ENTERING;
    c->admission->entering++;
    if (!c->link.data)
        begin(c);
    if (contender_limit(c))
        contender_use_limit(c);
    contender_step(c, MACHINE_EV_BEGIN);
}

/* One that cannot even send its create is through at once, and would admit in turn. */
static void admit(struct admission *a)
{
    struct contender *c;

    if (a->admitting || a->all->admissions_closed)
        return;
    a->admitting = true;
    a->users++;
    while (a->entering < ABREAST && (c = oldest(a)))
        enter(c);
    a->admitting = false;
    admission_unuse(a);
}

void admission_enter(struct contender *c)
{
    if (c->progress == ENTERING)
        c->admission->entering--;
    put_outside(c);
    admit(c->admission);
}

void admission_arrive(struct contender *c, bool at_once)
{
    c->arrival = c->admission->arrivals++;
    if (at_once)
        admission_enter(c);
}

/* Who waits behind c in its handle's queue is next. */
static void leave_local_queue(struct contender *c)
{
    struct contender *next = local_queue_leave(c);

    if (next)
        admission_enter(next);
}

/* Who cannot settle its create may be at it for long. */
static bool is_through(const struct attempt *m)
{
    return m->state == ST_WAITING || m->state == ST_CLAIMING || m->state == ST_HOLDING ||
           m->state == ST_DONE || (m->state == ST_LEAVING && m->rounds > 0);
}

void admission_passed(struct contender *c)
{
    if (c->progress != ENTERING || !is_through(&c->machine))
        return;
    c->progress = INSIDE;
    c->admission->entering--;
    if (c->machine.state == ST_LEAVING)
        leave_local_queue(c);
    admit(c->admission);
}

/* Whom it lets in begins before it has ended, so that the session never looks unused. */
void admission_leave(struct contender *c)
{
    leave_local_queue(c);
    if (c->place)
        take_inside(c);
    if (c->link.data)
        g_queue_unlink(&c->admission->all->contenders, &c->link);
}

/* ---- all of a session ---- */

static void for_all(struct locks *all, void (*fn)(struct admission *a, const void *data),
                    const void *data)
{
    GList *admissions = g_hash_table_get_values(all->admissions);

    for (GList *l = admissions; l; l = l->next)
        ((struct admission *)l->data)->users++;
    for (GList *l = admissions; l; l = l->next) {
        fn(l->data, data);
        admission_unuse(l->data);
    }
    g_list_free(admissions);
}

void admissions_close(struct locks *all)
{
    all->admissions_closed = true;
}

static void reopen(struct admission *a, const void *unused)
{
    (void)unused;
    admit(a);
}

void admissions_open(struct locks *all)
{
    all->admissions_closed = false;
    for_all(all, reopen, NULL);
}

static void turn_away(struct admission *a, const void *why)
{
    const zkl_error *e = why;
    int n = a->outside ? g_sequence_get_length(a->outside) : 0;

    for (struct contender *c; n > 0 && (c = oldest(a)); n--)
        contender_abort(c, e->code, e->text);
}

void admissions_abort(struct locks *all, const zkl_error *why)
{
    for_all(all, turn_away, why);
}
