/* Runs the command between grant and release, so that it ends before the lock does. */
#ifndef ZKL_TOOLS_HOLD_H
#define ZKL_TOOLS_HOLD_H

#include "events.h"
#include "guard/hold_options.h"
#include "tool.h"

struct guard;
struct hold;

/* Checks that the grace leaves the command time to work. Returns GO_ON, or STATUS_USAGE after a
 * message. */
int hold_check_grace(int64_t grace_ms, int session_timeout_ms);

/* Fits o to a session that is connected, and has that timeout. grace_ms: as given, or
 * GRACE_DEFAULT. */
void hold_fit(struct hold_options *o, int64_t grace_ms, int session_timeout_ms);

/* Lets the guard run the command under grant. Returns the exit status at the command's end. After a
 * loss, or a signal that ended the command, it returns only when nothing of the command's tree
 * lives any more. guard, grant and events must outlive *ret. */
int hold_run(struct hold **ret, struct guard *guard, const zkl_grant *grant, struct events *events);

/* Whether the lock was still ours when hold_run() was done. */
bool hold_has_lock(const struct hold *hold);

/* Returns the first HUP, INT, QUIT or TERM that we have sent to the command, or 0. After such a
 * signal it may have left half of its work. */
int hold_asked(const struct hold *hold);

/* Frees hold. Call it after the session's close: until then the library may call back for the
 * grant. */
void hold_free(struct hold *hold);

#endif
