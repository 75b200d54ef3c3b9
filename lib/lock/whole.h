/* The grant of several paths: the whole, which the user knows, of parts that are the grants of one
 * contender each. Its deadline is theirs, the session's; its state the worst of theirs. */
#ifndef LIB_WHOLE_H
#define LIB_WHOLE_H

#include "grant.h"

struct multi_attempt;

/* Of parts in the order of the user's paths, with a reference of the caller's. attempt hears when
 * it is given back. With the monitor held, as what follows but for the count and the parts. */
zkl_grant *whole_new(zkl_grant *const *parts, uint32_t count, struct multi_attempt *attempt);

/* The attempt is over. */
void whole_detach(zkl_grant *whole);

/* Who is to hear that g is given back; NULL: g is no whole, or its parts are gone. */
struct multi_attempt *whole_attempt(const zkl_grant *g);

/* Of every grant, never changed: a part of what is no whole is the grant itself. */
uint32_t whole_count(const zkl_grant *g);
zkl_grant *whole_part(const zkl_grant *g, uint32_t i);

#endif
