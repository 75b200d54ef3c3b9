/* What zkl watch, zkl elect --listen and zkl member --listen have in common: they show changes in
 * one session until a signal ends them. They end, too, when a watch of the library, which goes on
 * trying in silence, can read no more. Then a read says why. A command that shows the present state
 * alone ends as soon as it has begun. */
#ifndef ZKL_TOOLS_ONLOOKER_H
#define ZKL_TOOLS_ONLOOKER_H

#include "reader.h"

struct onlooker {
    const struct settings *settings;
    const char *path;
    struct events *events;
    bool prints; /* to standard output, and ends when nobody reads that any more */
    const struct onlooker_ops *ops;
    /* Set by onlooker_run(): */
    zkl_session *session;
    struct reader reader;
};

/* The main thread calls all of these but read. Each returns GO_ON, or a status to end with. */
struct onlooker_ops {
    int (*open)(struct onlooker *o);  /* before there is a connection; may be NULL */
    int (*begin)(struct onlooker *o); /* there is a connection */

    /* Shows newest, and frees it; NULL: there is no new reading. */
    int (*see)(struct onlooker *o, struct reading *newest);

    /* Handles the signals that have come, and all else that is waited for. NULL: the signals that
     * ask us to end do end us. */
    int (*on_event)(struct onlooker *o);
    void (*end)(struct onlooker *o); /* before the last message; may be NULL */
    reader_fn read;                  /* on the reader's thread */
};

/* Shows changes until something ends that, and closes the session. The caller has set all of o but
 * the session and the reader. Returns the exit status. */
int onlooker_run(struct onlooker *o);

#endif
