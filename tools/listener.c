/* The functions of the header take the lock where they need it. */
#include "listener.h"

#include <string.h>

#define BYTES_MAX (64 * 1024)

int listener_run(struct listener *l, const struct settings *settings, const char *path,
                 struct events *events, const struct onlooker_ops *ops)
{
    *l = (struct listener){.onlooker = {.settings = settings,
                                        .path = path,
                                        .events = events,
                                        .prints = true,
                                        .ops = ops},
                           .lock = PTHREAD_MUTEX_INITIALIZER,
                           .room = PTHREAD_COND_INITIALIZER,
                           .lines = G_QUEUE_INIT};
    const int status = onlooker_run(&l->onlooker);
    zkl_watch_free(l->observer);
    g_queue_clear_full(&l->lines, g_free);
    return status;
}

/* Takes the next line; NULL: there is none. The caller holds the lock. */
static char *listener_take(struct listener *l)
{
    char *line = g_queue_pop_head(&l->lines);

    if (line)
        l->bytes -= strlen(line);
    return line;
}

void listener_add(struct listener *l, char *line, bool wait)
{
    const size_t size = strlen(line);

    pthread_mutex_lock(&l->lock);
    while (!l->over && !g_queue_is_empty(&l->lines) && l->bytes + size > BYTES_MAX) {
        if (wait)
            pthread_cond_wait(&l->room, &l->lock);
        else
            g_free(listener_take(l));
    }
    g_queue_push_tail(&l->lines, line);
    l->bytes += size;
    pthread_mutex_unlock(&l->lock);
    events_wake(l->onlooker.events);
}

int listener_see(struct onlooker *o, struct reading *newest)
{
    struct listener *l = (struct listener *)o;
    int status = GO_ON;

    reading_unref(newest); /* a reading only shows that the members or candidates can be read */
    while (status == GO_ON) {
        pthread_mutex_lock(&l->lock);
        g_autofree char *line = listener_take(l);
        pthread_cond_signal(&l->room);
        pthread_mutex_unlock(&l->lock);
        if (!line)
            break;
        status = events_print(o->events, line);
    }
    return status;
}

/* Ends the waits for room: nobody makes room any more. */
void listener_end(struct onlooker *o)
{
    struct listener *l = (struct listener *)o;

    pthread_mutex_lock(&l->lock);
    l->over = true;
    pthread_cond_signal(&l->room);
    pthread_mutex_unlock(&l->lock);
}
