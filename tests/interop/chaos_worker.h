/* A holder that is careful: it writes while its grant is valid, and for long enough, and not else.
 */
#ifndef INTEROP_CHAOS_WORKER_H
#define INTEROP_CHAOS_WORKER_H

/* It writes only when its grant is good for so much longer: a write takes microseconds, but
 * somebody else may have the processor just then. */
enum { MARGIN_MS = 500 };

/* The present program as such a one: CONNECT PATH NUMBER HISTORY HOLD SESSION_MS CARELESS. Ends
 * with its input, after its present turn. As long as the file HOLD is there it goes on holding.
 * With CARELESS 1 it does not look at its grant. */
int chaos_worker(int argc, char **argv);

#endif
