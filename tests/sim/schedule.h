/* A random schedule from a seed: how many servers and processes, what these do and when, and what
 * happens to them. Then all faults cease, whatever is open has to come to its end, and nothing may
 * be left. */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "tally.h"
#include "trace.h"

/* Lacking ones do not know all operations. Some know no containers, and others no create2 either.
 * Some of each sort end the connection instead of saying so. Odd and late ones: see struct
 * world_config. */
enum servers { SERVERS_USUAL, SERVERS_LACKING, SERVERS_ODD, SERVERS_LATE };

extern enum servers schedule_servers;

/* NULL: all was well; else what was wrong, in a sentence: g_free() it. Adds to *tally, and writes
 * to trace unless that is NULL. */
char *schedule_play(uint64_t seed, struct trace *trace, struct tally *tally);

#endif
