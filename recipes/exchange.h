/* What the driver decides between a machine and the server (docs/design/driver.md): which answers
 * are stale, and which the machine does not hear as they are. A flat value, all 0 at the beginning.
 */
#ifndef RECIPES_EXCHANGE_H
#define RECIPES_EXCHANGE_H

#include "machine.h"

enum { EXCHANGE_SLOTS = 3 };

struct exchange {
    uint32_t question[EXCHANGE_SLOTS]; /* the number of the present one */
    bool lost;                         /* a part of it was sent, and its session has ended */
};

/* A request as it is under way; without padding. */
struct exchange_request {
    uint32_t question;
    uint16_t slot, bare; /* as in the action */
};

/* The machine asks. */
struct exchange_request exchange_ask(struct exchange *x, const struct machine_action *a);

/* All that is under way in the slot is stale. */
void exchange_forget(struct exchange *x, uint8_t slot);

bool exchange_is_stale(const struct exchange *x, struct exchange_request r);

enum exchange_answer {
    EXCHANGE_HEARD,   /* the machine hears it */
    EXCHANGE_UNHEARD, /* it does not */
    EXCHANGE_PARENTS  /* the parents are made, and then it is asked for again */
};

/* .unsent: it was never sent. */
enum exchange_answer exchange_answered(struct exchange *x, struct exchange_request r,
                                       const struct machine_event *ev);

/* An event that is no answer is about to be told. unsent: nothing was sent of the requests that are
 * under way and not stale. */
void exchange_tell(const struct exchange *x, struct machine_event *ev, bool unsent);

/* All that is under way is stale. */
void exchange_end(struct exchange *x);

/* For searches: gives the same numbers to all values that differ in numbers alone.
 * exchange_plain_request() is for each request under way, and exchange_plain() comes after that. */
struct exchange_request exchange_plain_request(const struct exchange *x, struct exchange_request r);
void exchange_plain(struct exchange *x); /* behind that */

#endif
