/* What an observer of an election is told: tokens rise, and nothing twice. */
#ifndef RECIPES_OBSERVE_H
#define RECIPES_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum observe_tell { OBSERVE_NOTHING, OBSERVE_LEADER, OBSERVE_NOBODY };

/* All zero: nothing was told yet. */
struct observe {
    bool told;    /* something was */
    bool leads;   /* the last thing told was a leader */
    uint64_t top; /* the highest token told */
};

/* Takes the first in line (0: nobody is) and whether its proclaimed data is other than told. One
 * that a resource fenced by the tokens told so far would refuse counts as nobody. */
enum observe_tell observe_see(struct observe *o, uint64_t token, bool news);

/* The servers' data has gone back: the tokens told so far are no measure any more. */
void observe_rewind(struct observe *o);

/* Takes the election's own data apart: "<token>\n" and what the leader of that token proclaimed,
 * which begins at *ret_at. False: it is something else. */
bool observe_data(const char *data, size_t length, uint64_t *ret_token, size_t *ret_at);

#endif
