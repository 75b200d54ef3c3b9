/* TCP ports of 127.0.0.1 that stay ours. */
#ifndef SUPPORT_PORTS_H
#define SUPPORT_PORTS_H

#include <stdbool.h>

/* A bound socket that never listens. The kernel gives its port to nobody who asks for any port, yet
 * a server that sets SO_REUSEADDR can listen there; while none does, connections are refused. */
struct held_port {
    int fd;
    int port;
};
bool port_hold(struct held_port *ret);
void port_release(struct held_port *p);
int port_listen(const struct held_port *p); /* a listener there, non-blocking, or -1 */

#endif
