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

bool machine_is_answered(enum store_rc rc)
{
    return rc < STORE_BAD;
}

void machine_tell(struct machine_actions *out, int verdict, enum store_rc rc)
{
    struct machine_action *a = machine_act(out, MACHINE_ACT_TELL);

    a->verdict = verdict;
    a->rc = rc;
}
