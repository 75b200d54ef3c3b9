/* A thread of the library makes lines of changes, and the main thread writes them to standard
 * output: zkl elect --listen, zkl member --listen. If the reader does not read, up to 64 KiB of
 * lines wait. */
#ifndef ZKL_TOOLS_LISTENER_H
#define ZKL_TOOLS_LISTENER_H

#include "onlooker.h"

struct listener {
    struct onlooker onlooker; /* the first member */
    zkl_watch *observer;      /* the library's; NULL: there is none */
    pthread_mutex_t lock;     /* guards the rest */
    pthread_cond_t room;
    GQueue lines;
    size_t bytes;
    bool over;
};

/* Sets l up, does what onlooker_run() does, and frees observer and lines. */
int listener_run(struct listener *l, const struct settings *settings, const char *path,
                 struct events *events, const struct onlooker_ops *ops);

/* Adds a line, which l frees. Runs on a thread of the library. If there is no room, waits for some
 * (wait), or drops the oldest lines. */
void listener_add(struct listener *l, char *line, bool wait);

/* Functions for the struct onlooker_ops of a listener. */
int listener_see(struct onlooker *o, struct reading *newest);
void listener_end(struct onlooker *o);

#endif
