/* A port of ours for who asks servers what they are. */
#ifndef UNIT_PROBE_LISTENER_H
#define UNIT_PROBE_LISTENER_H

#include <pthread.h>

struct probe_listener {
    int fd;
    char hosts[32]; /* "127.0.0.1:P" */
    pthread_t thread;
};

/* serve(server) runs in a thread, and ends when it can accept nobody any more. */
void probe_listen(struct probe_listener *ret, void *(*serve)(void *server), void *server);
void probe_listen_end(struct probe_listener *listener);

#endif
