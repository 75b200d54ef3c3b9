/* A port of ours for who asks servers what they are. */
#ifndef UNIT_PROBE_LISTENER_H
#define UNIT_PROBE_LISTENER_H

struct probe_listener {
    int fd;
    char hosts[32]; /* "127.0.0.1:P" */
};

void probe_listen(struct probe_listener *ret);

#endif
