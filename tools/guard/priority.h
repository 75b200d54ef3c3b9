/* The guard's place before all others on a busy machine, where the system permits it. */
#ifndef ZKL_TOOLS_PRIORITY_H
#define ZKL_TOOLS_PRIORITY_H

/* Makes this process real-time, unless it is already. It must have one thread. */
void priority_raise(void);

/* Gives back the priority that was raised, in each child too. Does nothing if it was not raised.
 * Async-signal-safe. */
void priority_give_back(void);

/* A moment for others, who would get none while one of real-time works on. */
void priority_pause(void);

#endif
