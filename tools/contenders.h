/* Contenders as text, for zkl ls, watch, revoke and break; and for zkl lock, while it waits. People
 * read it, and it decides nothing. */
#ifndef ZKL_TOOLS_CONTENDERS_H
#define ZKL_TOOLS_CONTENDERS_H

#include "tool.h"

/* "HOST pid N", perhaps with " thread M", which the library writes; or "NAME (HOST pid N)", which
 * zkl lock --name writes. Anything else is a name alone. All point into the payload. */
struct identity {
    const char *name; /* all of the payload where there is no such name */
    size_t name_length;
    const char *host; /* NULL: unknown */
    size_t host_length;
    int64_t pid; /* 0: unknown */
};

struct identity identity_of(const zkl_contender *c);

/* The payload of a contender of ours that has that name, or NULL for no name; g_free() it. */
char *identity_text(const char *name);

/* A text like "web1 (pid 4711, for 3 min)", made visible and cut; g_free() it. */
char *identity_sentence(const zkl_contender *c);

const char *contender_kind(const zkl_contender *c);   /* "lock", "latch", "read", … */
const char *contender_client(const zkl_contender *c); /* whose it looks like; NULL: unknown */

/* The host, as far as the payload tells; NULL: unknown. g_free() it. */
char *contender_host(const zkl_contender *c);

/* Somebody has written Curator's request to give the lock up into its node. */
bool contender_is_asked(const zkl_contender *c);

/* The owner, made visible; "-" if it has none. g_free() it. */
char *contender_owner(const zkl_contender *c);

/* How many of them hold. */
size_t contenders_holding(const zkl_queue *q);

/* A line of heads, and one for each of the first most contenders; narrow: without sessions. */
GString *contenders_table(const zkl_queue *q, size_t most, bool narrow);

/* An object, and an array of all of them with between before each. */
void contender_json(GString *out, const zkl_contender *c, size_t position);
void contenders_json(GString *out, const zkl_queue *q, const char *between);

/* Reads a snapshot. At most the first `most` contenders are read; only the names of the others are
 * known. NULL if that cannot be done in time. */
zkl_queue *contenders_first(zkl_session *session, const char *path, size_t most,
                            int64_t timeout_ms);

/* Reads a snapshot, for a caller that has nothing else to wait for. Returns STATUS_OK, or another
 * status after a message. */
int contenders_read(zkl_queue **ret, zkl_session *session, const char *path, int64_t timeout_ms);

/* After another call about a queue: says what the library answered, and gives the status for it. */
int contenders_failed(const char *path);

/* Writes the table; or a message, when there is none. And the array. */
void contenders_print(const zkl_queue *q, const char *path);
void contenders_print_json(const zkl_queue *q);

/* The position of a contender whose place in line is not known. */
#define CONTENDER_SOMEWHERE SIZE_MAX

/* Writes a table of one; and of those in a snapshot that is not of the whole line. */
void contender_print(const zkl_contender *c, size_t position);
void contenders_print_some(const zkl_queue *q);

/* "run by web1 at 2026-11-28T04:00:00Z, due again at 2026-11-28T05:00:00Z", of a calendar with the
 * instant that it was for; to be freed. */
char *contenders_run_text(const zkl_once_run *run);

/* The same as an object; run NULL: there is none. */
void contenders_run_json(GString *out, const zkl_once_run *run, const char *state);

#endif
