/* Parses the command line of zkl lock. Other verbs have most of its options, too. */
#ifndef ZKL_TOOLS_LOCK_OPTIONS_H
#define ZKL_TOOLS_LOCK_OPTIONS_H

#include "hold.h"

/* The options of zkl lock, zkl elect and their like. */
struct lock_options {
    int64_t timeout_ms;  /* 0: try, ZKL_FOREVER: no -w */
    int64_t wait_ms;     /* the same as it was given, for the message */
    int conflict_status; /* -E */
    char *name;          /* zkl lock alone has this and the next ones, up to .exclusive */
    zkl_peer peer;
    int slots; /* the limit of a semaphore, of which the command takes one permit; 0: no semaphore
                */
    gboolean shared, exclusive; /* take a read-write lock, to read or to write; neither: a mutex */
    zkl_parents parents;
    char *metrics_file; /* NULL: none */

    /* The strings in .hold are freed with these options. .hold.grace_ms may be GRACE_DEFAULT: none
     * was given. */
    struct hold_options hold;
};

/* Returns GO_ON, or a status after a message. Call lock_options_free() in both cases. */
int lock_options_parse(struct lock_options *o, struct settings *settings, int argc, char **argv);
void lock_options_free(struct lock_options *o);

#endif
