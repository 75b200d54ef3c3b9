/* V9: what a session counted is what its process recorded. The counts are its last events but for
 * the callbacks that were still to come, so those that were killed have none. */
#include "court.h"

#include <inttypes.h>

/* What one process's session counted, and what the process recorded. */
struct tally {
    int64_t counted[COUNTED], recorded[COUNTED];
    unsigned said; /* bit n: its session counted n */
};

static bool is_end(const event *e)
{
    return e->kind == EV_COUNTED && e->token == COUNTED_GRANTS;
}

static void take(struct tally *t, const event *e)
{
    if (e->kind == EV_GRANT) {
        t->recorded[COUNTED_GRANTS]++;
        t->recorded[COUNTED_WAITS]++;
        t->recorded[COUNTED_HOLDS]++;
    } else if (e->kind == EV_TOLD && e->value > 0 && e->value < COUNTED_WAITS) {
        t->recorded[e->value]++;
    } else if (e->kind == EV_COUNTED && e->token < COUNTED) {
        t->counted[e->token] = e->value;
        t->said |= 1u << e->token;
    }
}

static struct tally tally_of(const struct court *c, int pid)
{
    struct tally t = {.said = 1u << ZKL_LOSS_FORKED}; /* which is never counted */

    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (e->pid == pid)
            take(&t, e);
    }
    return t;
}

static void compare(struct court *c, const event *end, const struct tally *t)
{
    if (t->said != (1u << COUNTED) - 1)
        court_violate(c, 9, -1, end->ns, "w%d said only %x of what its session counted",
                      end->worker, t->said);
    for (int of = 0; of < COUNTED; of++) {
        c->j->counted[of] += t->counted[of];
        c->j->recorded[of] += t->recorded[of];
        if (t->counted[of] != t->recorded[of])
            court_violate(c, 9, -1, end->ns,
                          "w%d's session counted %" PRId64 " of sort %d, recorded are %" PRId64,
                          end->worker, t->counted[of], of, t->recorded[of]);
    }
}

void court_counts(struct court *c)
{
    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (!is_end(e))
            continue;
        const struct tally t = tally_of(c, e->pid);
        c->j->sessions++;
        compare(c, e, &t);
    }
}
