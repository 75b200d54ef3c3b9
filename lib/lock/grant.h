/* The grant's inside: who may still believe, decided by atomics alone.
 * docs/design/deadlines.md has the argument. */
#ifndef LIB_GRANT_H
#define LIB_GRANT_H

#include "lib/session/core.h"
#include "recipes/loss.h"

struct contender;
struct multi_line;

/* A grant of s's present deadline, with one reference for the contender and one for the user. With
 * the monitor held. node is its full path, payload what is in it. */
zkl_grant *grant_new(zkl_session *s, struct contender *c, const char *node, const char *payload,
                     uint64_t token);

zkl_grant *grant_ref(zkl_grant *g);

void grant_unref(zkl_grant *g); /* without the monitor held, unless another reference remains */

/* With the monitor held: */

/* As zkl_grant_on_change(), for whom the calls are sure to come: before the session is closed. */
void grant_watch(zkl_grant *g, zkl_grant_fn fn, void *data);

/* The user gets it now, CLOCK_BOOTTIME ns, and has waited for it so long: it is counted. */
void grant_began(zkl_grant *g, int64_t wait_ns, int64_t now);

/* A new deadline; a later one is a proof, which ends SUSPECT. False: it was lost meanwhile. */
bool grant_set_deadline(zkl_grant *g, struct instant deadline, bool proved);
void grant_suspect(zkl_grant *g);

/* The contender lost it for that reason: tells those who asked to be told. then(data) runs behind
 * them on the callback thread, without the monitor; false: nobody is told, and then will not be
 * called. */
bool grant_lose(zkl_grant *g, enum loss loss, void (*then)(void *data), void *data);

/* That of a grant or, where it is a span or a part, of its turn or whole: the one that the user
 * knows. */
zkl_state grant_told_state(const zkl_grant *g);
zkl_loss grant_told_loss(const zkl_grant *g);

/* What a holder is called for, once. */
enum grant_call {
    GRANT_WANTED, /* another contender waits */
    GRANT_ASKED,  /* to give way */
    GRANT_CALLS
};

/* There is reason for it: calls those who asked for it, now and once. */
void grant_call(zkl_grant *g, enum grant_call call);

/* From here on it is RELEASED, though its node stands (release.h). False: it was not owned. */
bool grant_disown(zkl_grant *g);

/* The contender is done with it. */
void grant_detach(zkl_grant *g);

struct contender *grant_contender(const zkl_grant *g); /* NULL: detached */
/* 0 for an owned one; otherwise ZKL_ELOST or ZKL_EPERM, and the thread's last error says so. */
int grant_check_state(const zkl_grant *g, zkl_state state);

/* What its transactions need. */
zkl_session *grant_session(const zkl_grant *g);
zkl_grant *grant_of_node(zkl_grant *g); /* of a turn its span, otherwise itself */
struct multi_line **grant_line(zkl_grant *g);
const char *grant_full_node(const zkl_grant *g);
const char *grant_payload(const zkl_grant *g);

/* Before anybody else has it: its permits have these numbers, and its node that payload. */
void grant_set_slots(zkl_grant *g, const int32_t *slots, uint32_t count, const char *payload);

bool grant_is_child(const zkl_grant *g); /* in a forked child */

#endif
