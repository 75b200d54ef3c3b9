/* A contender's identity, by its node's payload: people read it, and it decides nothing. */
#ifndef ZKL_TOOLS_IDENTITY_H
#define ZKL_TOOLS_IDENTITY_H

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

/* How long ago its node was made, by the server's clock and ours: a little wrong, perhaps. */
int64_t identity_age_ms(const zkl_contender *c);

/* As in "web1 (pid 4711, for 3 min)", made visible and cut; g_free() it. */
char *identity_sentence(const zkl_contender *c);

#endif
