/* Cases with an ensemble of three. */
#ifndef WORLD_CONFORM_TRIO_H
#define WORLD_CONFORM_TRIO_H

#include "conform.h"

#define TRIO(name) CASE_OF(name, SERVERS)

enum { SERVERS = 3 };

/* It has caught up with the case's beginning. */
struct client *client_on(int server);

/* One at each server; the leader is one of them. */
void clients_everywhere(struct client *ret[SERVERS]);

#endif
