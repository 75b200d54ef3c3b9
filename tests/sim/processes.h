/* What process ids simulated processes have, on which machines. Linked with sim_ldflags, the
 * library asks here who it is and who lives: A, B and C run on one machine, D on another; the id of
 * a process that is dead is another's again, or nobody's. */
#ifndef SIM_PROCESSES_H
#define SIM_PROCESSES_H

struct client;

/* One that is new among those of its stage. */
void processes_add(struct client *p);

#endif
