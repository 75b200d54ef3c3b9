/* Reads contenders, and shows them as text, for zkl ls, watch, revoke and break; and for zkl lock,
 * while it waits. The text is for people, and decides nothing. */
#ifndef ZKL_TOOLS_CONTENDERS_H
#define ZKL_TOOLS_CONTENDERS_H

#include "tool.h"

/* The identity of a contender, by its node's payload. That is "HOST pid N", perhaps with " thread
 * M", which the library writes; or "NAME (HOST pid N)", which zkl lock --name writes. Anything else
 * is a name alone. The pointers point into the payload. */
struct identity {
    const char *name; /* NAME of the second form, else all of the payload */
    size_t name_length;
    const char *host; /* NULL: unknown */
    size_t host_length;
    int64_t pid; /* 0: unknown */
};

struct identity identity_of(const zkl_contender *c);

/* Returns the payload for a contender of ours that has that name; NULL for NULL. g_free() it. */
char *identity_text(const char *name);

/* Returns a text like "web1 (pid 4711, for 3 min)", made visible and cut. g_free() it. */
char *identity_sentence(const zkl_contender *c);

const char *contender_kind(const zkl_contender *c);   /* "lock", "latch", "read", … */
const char *contender_client(const zkl_contender *c); /* its library, by the name; NULL: unknown */

/* Returns the host that the payload names; NULL: none. g_free() it. */
char *contender_host(const zkl_contender *c);

/* Whether somebody has written Curator's request to give up the lock into the contender's node. */
bool contender_is_asked(const zkl_contender *c);

/* Returns the owner's name, made visible; "-" if there is none. g_free() it. */
char *contender_owner(const zkl_contender *c);

/* Returns how many of the contenders hold. */
size_t contenders_holding(const zkl_queue *q);

/* Makes a table of the first most contenders, below a line of heads. narrow: without sessions. */
GString *contenders_table(const zkl_queue *q, size_t most, bool narrow);

/* Appends a contender as an object. */
void contender_json(GString *out, const zkl_contender *c, size_t position);

/* Appends an array of all contenders, with between before each, and leaves the array open. */
void contenders_json(GString *out, const zkl_queue *q, const char *between);

/* Reads a snapshot. At most the first `most` contenders are read; only the names of the others are
 * known. Returns NULL if that cannot be done in time. */
zkl_queue *contenders_first(zkl_session *session, const char *path, size_t most,
                            int64_t timeout_ms);

/* Reads a snapshot, for a caller that has nothing else to wait for. Returns STATUS_OK, or another
 * status after a message. */
int contenders_read(zkl_queue **ret, zkl_session *session, const char *path, int64_t timeout_ms);

/* Says why the last call about the queue of path has failed, and returns the status for that. */
int contenders_failed(const char *path);

/* Writes the table, or a message if there is no contender. */
void contenders_print(const zkl_queue *q, const char *path);

/* Writes the array. */
void contenders_print_json(const zkl_queue *q);

/* The position of a contender whose place in line is not known. */
#define CONTENDER_SOMEWHERE SIZE_MAX

/* Writes a table of one contender. */
void contender_print(const zkl_contender *c, size_t position);

/* Writes a table of some contenders, whose places in line the snapshot does not show. */
void contenders_print_some(const zkl_queue *q);

/* Returns a text like "run by web1 at 2026-11-28T04:00:00Z, due again at 2026-11-28T05:00:00Z";
 * with a calendar, that has the instant that the run was for. g_free() it. */
char *contenders_run_text(const zkl_once_run *run);

/* Appends the same as an object; run NULL: there is none. */
void contenders_run_json(GString *out, const zkl_once_run *run, const char *state);

#endif
