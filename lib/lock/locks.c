#include "locks.h"

#include "contender.h"
#include "grant.h"
#include "lib/base/error.h"

static struct locks *all_of(struct participant *p)
{
    return (struct locks *)p;
}

static bool is_busy(const struct participant *p)
{
    return ((const struct locks *)p)->contenders.length > 0;
}

static bool holds(const struct participant *p)
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
static void for_all(const GQueue *queue, void (*fn)(struct contender *c, void *data), void *data)
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

static void on_extended(struct contender *c)
{
    if (c->look_again)
        contender_look(c);
    contender_tell(c, CONTENDER_PROVED);
}

static void extend(struct contender *c, void *proved)
{
    if (!c->grant)
        contender_step(c, ATTEMPT_EV_EXTENDED);
    else if (!grant_set_deadline(c->grant, contender_session(c)->proofs.deadline, *(bool *)proved))
        contender_step(c, ATTEMPT_EV_LAPSED);
    else if (*(bool *)proved)
        on_extended(c);
}

static void on_proved(struct participant *p)
{
    bool proved = true;

    for_all(&all_of(p)->by_deadline, extend, &proved);
}

static void on_deadline(struct participant *p)
{
    bool proved = false;

    for_all(&all_of(p)->by_deadline, extend, &proved);
}

/* Where the servers' data has gone back, watches that are set again miss what was changed since. */
static void look_as_before(struct contender *c, void *unused)
{
    (void)unused;
    if (c->machine.state == ST_FIRST)
        contender_step(c, ATTEMPT_EV_DOUBT);
}

static void on_up(struct participant *p)
{
    for_all(&all_of(p)->contenders, look_as_before, NULL);
}

static void lapse(struct contender *c, void *unused)
{
    (void)unused;
    contender_step(c, ATTEMPT_EV_LAPSED);
}

static void on_lapsed(struct participant *p)
{
    for_all(&all_of(p)->by_deadline, lapse, NULL);
}

static void suspect(struct contender *c, void *unused)
{
    (void)unused;
    if (c->grant)
        grant_suspect(c->grant);
}

static void on_suspect(struct participant *p)
{
    for_all(&all_of(p)->by_deadline, suspect, NULL);
}

static void renew(struct contender *c, void *unused)
{
    (void)unused;
    contender_renew(c);
}

static void on_replaced(struct participant *p)
{
    admissions_close(all_of(p));
    for_all(&all_of(p)->contenders, renew, NULL);
    admissions_open(all_of(p));
}

static void end(struct contender *c, void *error)
{
    const zkl_error *e = error;

    contender_abort(c, e->code, e->text);
    contender_step(c, MACHINE_EV_OVER);
}

static void end_all(struct locks *all, int code, const char *text)
{
    zkl_error error;

    error_fill(&error, code, NULL, "%s", text);
    local_callers_abort(&all->local_callers, &error);
    admissions_abort(all, &error);
    for_all(&all->contenders, end, &error);
}

static void on_refused(struct participant *p)
{
    end_all(all_of(p), ZKL_EAUTH, "the server refused the credentials");
}

static void on_closed(struct participant *p)
{
    end_all(all_of(p), ZKL_ECLOSED, "the session was closed");
}

static void free_locks(struct participant *p)
{
    struct locks *all = all_of(p);

    g_hash_table_unref(all->admissions);
    g_free(all);
}

static const struct participant_ops participant = {.is_busy = is_busy,
                                                   .holds = holds,
                                                   .on = {[NEWS_UP] = on_up,
                                                          [NEWS_PROVED] = on_proved,
                                                          [NEWS_DEADLINE] = on_deadline,
                                                          [NEWS_SUSPECT] = on_suspect,
                                                          [NEWS_LAPSED] = on_lapsed,
                                                          [NEWS_REPLACED] = on_replaced,
                                                          [NEWS_REFUSED] = on_refused,
                                                          [NEWS_CLOSED] = on_closed},
                                                   .free = free_locks};

struct locks *locks_of(zkl_session *s)
{
    struct locks *all = (struct locks *)participant_of(s, &participant, sizeof(struct locks));

    if (!all->admissions)
        all->admissions = g_hash_table_new(g_str_hash, g_str_equal);
    return all;
}
