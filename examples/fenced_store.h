/* A fenced resource: a folder of small files, one for each key, that refuses stale writers.
 *
 * Each file holds the value together with the highest fence its key has seen, and both change in
 * one step. So whoever writes with the fence of a lock that it has lost changes nothing, however
 * late its write arrives: somebody with a higher fence has been here. */
#ifndef FENCED_STORE_H
#define FENCED_STORE_H

#include <stddef.h>
#include <stdint.h>

enum { FENCED_KEY_MAX = 200, FENCE_TEXT_SIZE = 42 };

/* zkl_grant_token() and zkl_grant_turn() of a grant. The fence with the higher token is the higher
 * one; if the tokens are equal, the one with the higher turn. */
struct fence {
    uint64_t token, turn;
};

/* "TOKEN", or "TOKEN/TURN" if turn is not 0, with the final 0. */
void fence_text(const struct fence *fence, char text[FENCE_TEXT_SIZE]);

/* All return 0 or a negative errno:
 *   -ESTALE    the fence is lower than *highest, and nothing was changed
 *   -ENOENT    there is no such store, or no value for this key
 *   -EINVAL    a bad key: only letters, digits and ._- and not .first, at most FENCED_KEY_MAX
 *   -EBADMSG   the file is none of ours, or damaged
 *   others     as the system calls gave them. What was there before is still there, unless only
 *              the last fsync failed: then a crash of the machine decides.
 * highest is set with 0 and -ESTALE. */

/* Replaces the value. An equal fence is accepted: the holder may write more than once. */
int fenced_put(const char *store, const char *key, const struct fence *fence, const char *value,
               struct fence *highest);

/* Reads the value, for free(). With a token other than 0 the key will from now on refuse lower
 * fences, so that a holder can trust what it read until it writes. */
int fenced_get(const char *store, const char *key, const struct fence *fence, char **value,
               struct fence *highest);

#endif
