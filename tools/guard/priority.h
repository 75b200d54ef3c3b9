/* Puts the guard before all other processes on a busy machine, where the system permits that. */
#ifndef ZKL_TOOLS_PRIORITY_H
#define ZKL_TOOLS_PRIORITY_H

/* Makes this process real-time, unless it is already. It must have one thread. */
void priority_raise(void);

/* Gives this process the priority that it had before. Each child of a real-time process calls it,
 * too. Does nothing if the priority was not raised. Async-signal-safe. */
void priority_give_back(void);

/* Sleeps for a moment if this process is real-time: others would get no processor while it works
 * on. */
void priority_pause(void);

#endif
