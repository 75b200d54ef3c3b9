#include "exchange.h"

#include <assert.h>

void exchange_forget(struct exchange *x, uint8_t slot)
{
    assert(slot < EXCHANGE_SLOTS);
    x->question[slot]++;
    x->lost = false;
}

struct exchange_request exchange_ask(struct exchange *x, const struct machine_action *a)
{
    if (!a->also)
        exchange_forget(x, a->slot);
    return (struct exchange_request){
        .question = x->question[a->slot], .slot = a->slot, .bare = a->bare};
}

bool exchange_is_stale(const struct exchange *x, struct exchange_request r)
{
    return r.question != x->question[r.slot];
}

/* The end of the session is told by an event of its own. */
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

void exchange_tell(const struct exchange *x, struct machine_event *ev, bool unsent)
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
