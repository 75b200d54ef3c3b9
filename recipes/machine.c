#include "machine.h"

#include <assert.h>

struct machine_action *machine_act(struct machine_actions *out, enum machine_action_kind kind)
{
    struct machine_action *a = &out->list[out->count];

    assert(out->count < MACHINE_ACTIONS);
    out->count++;
    *a = (struct machine_action){.kind = kind};
    return a;
}

struct machine_action *machine_ask(struct machine_actions *out, enum store_kind verb, uint32_t node)
{
    struct machine_action *a = machine_act(out, MACHINE_ACT_REQUEST);

    a->verb = verb;
    a->node = node;
    return a;
}

struct machine_action *machine_ask_quorum(struct machine_actions *out, uint32_t node)
{
    struct machine_action *a = machine_ask(out, STORE_SET, node);

    a->version = INT32_MAX;
    return a;
}

struct machine_action *machine_ask_both(struct machine_actions *out, uint32_t node,
                                        struct machine_part first, struct machine_part second)
{
    struct machine_action *a = machine_ask(out, STORE_MULTI, node);

    a->count = 2;
    a->parts[0] = first;
    a->parts[1] = second;
    return a;
}

bool machine_is_by_quorum(enum store_rc rc)
{
    return rc < STORE_BAD && rc != STORE_NOAUTH;
}

void machine_tell(struct machine_actions *out, int verdict, enum store_rc rc)
{
    struct machine_action *a = machine_act(out, MACHINE_ACT_TELL);

    a->verdict = verdict;
    a->rc = rc;
}

/* ---- between a machine and the server ---- */

void exchange_forget(struct exchange *x, uint8_t slot)
{
    assert(slot < EXCHANGE_SLOTS);
    x->question[slot]++;
    x->lost = false;
}

struct exchange_request exchange_ask(struct exchange *x, const struct machine_action *a)
{
    if (!a->joins)
        exchange_forget(x, a->slot);
    return (struct exchange_request){
        .question = x->question[a->slot], .slot = a->slot, .bare = a->bare};
}

bool exchange_is_stale(const struct exchange *x, struct exchange_request r)
{
    return r.question != x->question[r.slot];
}

/* The machine gets no answer to a request that ended with its session: an event of its own tells of
 * the end. */
enum exchange_answer exchange_answered(struct exchange *x, struct exchange_request r,
                                       const struct machine_event *ev)
{
    if (exchange_is_stale(x, r))
        return EXCHANGE_UNHEARD;
    if (ev->rc == STORE_GONE) {
        x->lost |= !ev->unsent;
        return EXCHANGE_UNHEARD;
    }
    return ev->verb == STORE_CREATE && ev->rc == STORE_NONODE && !r.bare ? EXCHANGE_PARENTS
                                                                         : EXCHANGE_HEARD;
}

void exchange_set_unsent(const struct exchange *x, struct machine_event *ev, bool unsent)
{
    ev->unsent = unsent && !x->lost;
}

void exchange_end(struct exchange *x)
{
    for (int i = 0; i < EXCHANGE_SLOTS; i++)
        x->question[i]++;
}

struct exchange_request exchange_plain_request(const struct exchange *x, struct exchange_request r)
{
    r.question = !exchange_is_stale(x, r);
    return r;
}

void exchange_plain(struct exchange *x)
{
    for (int i = 0; i < EXCHANGE_SLOTS; i++)
        x->question[i] = 1;
}
