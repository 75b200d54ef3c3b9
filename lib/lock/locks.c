/* What the contenders of a session hear of it, and those who wait for them. */
#include "locks.h"

#include "contender.h"
#include "lib/base/error.h"

/* ---- callers ---- */

void callers_add(struct all_callers *all, struct callers *callers,
                 void (*abort)(void *context, const zkl_error *why), void *context)
{
    *callers =
        (struct callers){.all = all, .abort = abort, .context = context, .link.data = callers};
    g_queue_push_tail_link(&all->list, &callers->link);
}

void callers_remove(struct callers *callers)
{
    struct all_callers *all = callers->all;

    if (all->next == &callers->link)
        all->next = callers->link.next;
    g_queue_unlink(&all->list, &callers->link);
}

/* Tells each of them once. */
static void callers_abort(struct all_callers *all, const zkl_error *why)
{
    all->next = all->list.head;
    while (all->next) {
        struct callers *callers = all->next->data;
        all->next = all->next->next;
        callers->abort(callers->context, why);
    }
}

/* ---- what the session says ---- */

static struct locks *locks_all(struct participant *p)
{
    return (struct locks *)p;
}

static bool locks_is_busy(const struct participant *p)
{
    return ((const struct locks *)p)->contenders.length > 0;
}

static bool locks_holds(const struct participant *p)
{
    for (const GList *l = ((const struct locks *)p)->contenders.head; l; l = l->next) {
        enum attempt_state state = ((const struct contender *)l->data)->machine.state;
        if ((state == ST_HOLDING || state == ST_LAPSED) &&
            !((const struct contender *)l->data)->idle)
            return true;
    }
    return false;
}

/* Stepping one may retire others: each is held until its turn. */
static void locks_for_all(const GQueue *queue, void (*fn)(struct contender *c, void *data),
                          void *data)
{
    guint n = 0, count = queue->length;
    struct contender **list = g_new(struct contender *, count);

    for (GList *l = queue->head; l; l = l->next) {
        list[n] = l->data;
        list[n++]->refs++;
    }
    for (n = 0; n < count; n++) {
        if (!list[n]->retired)
            fn(list[n], data);
        contender_unref(list[n]);
    }
    g_free(list);
}

static void locks_on_extended(struct contender *c)
{
    if (c->look_again)
        contender_look(c);
    contender_tell(c, CONTENDER_PROVED);
}

static void locks_extend(struct contender *c, void *proved)
{
    if (!c->tenure)
        contender_step(c, ATTEMPT_EV_EXTENDED);
    else if (!grant_extend(c->tenure, contender_session(c)->proofs.deadline, *(bool *)proved))
        contender_step(c, ATTEMPT_EV_LAPSED);
    else if (*(bool *)proved)
        locks_on_extended(c);
}

static void locks_on_proved(struct participant *p)
{
    bool proved = true;

    locks_for_all(&locks_all(p)->by_deadline, locks_extend, &proved);
}

static void locks_on_deadline(struct participant *p)
{
    bool proved = false;

    locks_for_all(&locks_all(p)->by_deadline, locks_extend, &proved);
}

/* Where the servers' data has gone back, watches that are set again miss what was changed since. */
static void locks_look_as_before(struct contender *c, void *unused)
{
    (void)unused;
    if (c->machine.state == ST_FIRST)
        contender_step(c, ATTEMPT_EV_DOUBT);
}

static void locks_on_up(struct participant *p)
{
    locks_for_all(&locks_all(p)->contenders, locks_look_as_before, NULL);
}

static void locks_lapse(struct contender *c, void *unused)
{
    (void)unused;
    contender_step(c, ATTEMPT_EV_LAPSED);
}

static void locks_on_lapsed(struct participant *p)
{
    locks_for_all(&locks_all(p)->by_deadline, locks_lapse, NULL);
}

static void locks_suspect(struct contender *c, void *unused)
{
    (void)unused;
    if (c->tenure)
        grant_suspect(c->tenure);
}

static void locks_on_suspect(struct participant *p)
{
    locks_for_all(&locks_all(p)->by_deadline, locks_suspect, NULL);
}

static void locks_renew(struct contender *c, void *unused)
{
    (void)unused;
    contender_renew(c);
}

static void locks_on_replaced(struct participant *p)
{
    admissions_close(locks_all(p));
    locks_for_all(&locks_all(p)->contenders, locks_renew, NULL);
    admissions_open(locks_all(p));
}

static void locks_end_one(struct contender *c, void *error)
{
    const zkl_error *e = error;

    contender_abort(c, e->code, e->text);
    contender_step(c, MACHINE_EV_OVER);
}

static void locks_end_all(struct locks *all, int code, const char *text)
{
    zkl_error error;

    error_fill(&error, code, NULL, "%s", text);
    callers_abort(&all->callers, &error);
    admissions_abort(all, &error);
    locks_for_all(&all->contenders, locks_end_one, &error);
}

static void locks_on_refused(struct participant *p)
{
    locks_end_all(locks_all(p), ZKL_EAUTH, "the server refused the credentials");
}

static void locks_on_closed(struct participant *p)
{
    locks_end_all(locks_all(p), ZKL_ECLOSED, "the session was closed");
}

static void locks_free(struct participant *p)
{
    struct locks *all = locks_all(p);

    g_hash_table_unref(all->admissions);
    g_free(all);
}

static const struct participant_ops locks_participant = {.is_busy = locks_is_busy,
                                                         .holds = locks_holds,
                                                         .on = {[NEWS_UP] = locks_on_up,
                                                                [NEWS_PROVED] = locks_on_proved,
                                                                [NEWS_DEADLINE] = locks_on_deadline,
                                                                [NEWS_SUSPECT] = locks_on_suspect,
                                                                [NEWS_LAPSED] = locks_on_lapsed,
                                                                [NEWS_REPLACED] = locks_on_replaced,
                                                                [NEWS_REFUSED] = locks_on_refused,
                                                                [NEWS_CLOSED] = locks_on_closed},
                                                         .free = locks_free};

struct locks *locks_of(zkl_session *s)
{
    struct locks *all = (struct locks *)participant_of(s, &locks_participant, sizeof(struct locks));

    if (!all->admissions)
        all->admissions = g_hash_table_new(g_str_hash, g_str_equal);
    return all;
}
