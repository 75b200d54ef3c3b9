/* Names of what is counted off in enums. */
#ifndef SIM_TABLES_H
#define SIM_TABLES_H

#include <zkl.h>

#include "world/world.h"

const char *request_name(enum store_kind kind);
const char *fired_name(enum store_fired fired); /* behind a path */
const char *rc_name(enum store_rc rc);
const char *cause_name(enum cause cause);
const char *event_name(enum store_event event);
const char *election_event_name(zkl_election_event event);
const char *state_name(zkl_state state);

#endif
