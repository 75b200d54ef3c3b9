/* The command that serves a shard in tests/live/shards, and what can be told from the files that it
 * leaves in a folder: one for each shard, locked while a command runs, with a line for each that
 * ever ran. */
#ifndef LIVE_SHARDS_SERVED_H
#define LIVE_SHARDS_SERVED_H

#include <glib.h>
#include <stdbool.h>

/* The command, on a host of that name: until TERM, and then for a moment. The lock of the file goes
 * with the process, however that ends. */
int serve_shard(const char *dir, const char *host);

/* Whether a command runs for it. */
bool is_served(const char *dir, int shard);

/* The hosts that have served it, in order; free it with g_ptr_array_unref(). */
GPtrArray *served_by(const char *dir, int shard);

/* How often one of so many shards has passed from one host to another; and how many commands have
 * begun. */
int count_moves(const char *dir, int count, int *ret_begun);

/* A line for each command that began while another one ran, or whose token had not risen; NULL if
 * there was none. Free it with g_free(). */
char *overlaps(const char *dir);

#endif
