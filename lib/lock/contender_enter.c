/* How an attempt begins. */
#include "contender_state.h"
#include "lib/base/probes.h"
#include "local_queue.h"
#include "locks.h"
#include "recipes/rule.h"

uint32_t contender_long_queue = LONG_QUEUE;

static void on_predecessor_fired(void *context, bool gone)
{
    contender_step(context, &(struct event){.kind = EV_PRED_FIRED, .gone = gone});
}

struct contender *contender_enter(zkl_session *s, const struct contender_spec *spec,
                                  contender_decided decided, void *context)
{
    struct contender *c = contender_new(spec->limit);

    c->session = s;
    c->refs = 1;
    c->admission = admission_use(locks_of(s), spec->directory);
    c->payload = g_ref_string_acquire(spec->payload);
    c->parents = spec->parents;
    c->retains = spec->retains;
    c->rank = spec->rank;
    c->decided = decided;
    c->context = context;
    c->predecessor_subscription =
        (struct subscription){.fired = on_predecessor_fired, .context = c};
    if (spec->news)
        contender_head(c)->news = spec->news;
    attempt_init(&c->machine, spec->rule, spec->try_only);
    contender_new_id(c);
    c->machine.strict = spec->limit != NULL;
    c->machine.watch_children = spec->watch_children;
    c->machine.heeds = spec->heeds;
    if (spec->leases > 0)
        attempt_count_leases(&c->machine, spec->leases);
    else if (!spec->limit)
        c->machine.long_queue = spec->hints ? contender_long_queue : 0;
    PROBE(3, enter, spec->directory, s->id, (const char *)c->id);
    admission_arrive(c, !spec->local);
    if (spec->local)
        local_queue_arrive(spec->local, c);
    return c;
}
