/* What zkl watch and the looks of zkl elect and zkl member have in common: they look on from one
 * session until a signal ends them. They also end when a watch of the library, which goes on trying
 * in silence, can read no more. Then a read says why. A single look ends as soon as it has
 * begun. */
#ifndef ZKL_TOOLS_ONLOOKER_H
#define ZKL_TOOLS_ONLOOKER_H

#include "reader.h"

struct onlooker {
    const struct settings *settings;
    const char *path;
    struct events *events;
    bool prints; /* ends with the reader of standard output */
    const struct onlooker_ops *ops;
    /* since it runs: */
    zkl_session *session;
    struct reader reader;
};

/* The main thread calls all of these but read. Each returns GO_ON, or a status to end with. */
struct onlooker_ops {
    int (*open)(struct onlooker *o);  /* before there is a connection; may be NULL */
    int (*begin)(struct onlooker *o); /* there is one */
    int (*see)(struct onlooker *o, struct reading *newest); /* takes newest; NULL: no other one */
    int (*heed)(struct onlooker *o); /* signals; NULL: those that ask us to end do */
    void (*end)(struct onlooker *o); /* before what is said last; may be NULL */
    reader_fn read;                  /* on the reader's thread */
};

/* o has all but the session and the reader. Returns the exit status. The session is closed then. */
int onlooker_run(struct onlooker *o);

#endif
