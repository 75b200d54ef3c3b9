/* What a session counts for zkl_session_stats(). All with the monitor held. */
#ifndef LIB_STATS_H
#define LIB_STATS_H

#include "core.h"

/* A grant begins, after a wait of wait_ns. */
void stats_granted(zkl_session *s, int64_t wait_ns);

/* A grant has ended, after hold_ns: by its owner, ZKL_LOSS_NONE, or lost. */
void stats_ended(zkl_session *s, int64_t hold_ns, zkl_loss loss);

/* An acquisition has ended with that code. */
void stats_failed(zkl_session *s, int code);

/* A renewal that was sent then is answered, and the deadline not yet put off. */
void stats_renewed(zkl_session *s, struct instant sent);

#endif
