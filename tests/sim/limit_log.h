/* Which limit the semaphores of a path had, and when: what their data said; in Curator's layout the
 * one that all agree on, or the number of the counter that they follow. */
#ifndef SIM_LIMIT_LOG_H
#define SIM_LIMIT_LOG_H

#include "oracle.h"

/* Where a limit is followed: the counter is not there, or is none. A number below 0 counts as 0. */
enum { NO_NUMBER = -1 };

void limit_log_init(struct oracle *o);
void limit_log_clear(struct oracle *o);

/* The limit now; 0: there is none. */
int32_t limit_log_now(const struct oracle *o, int line);

/* The highest one that was in force at any instant from then on. */
int32_t limit_log_highest(const struct oracle *o, int line, int64_t since);

/* All agree on it, in Curator's layout. */
void limit_log_agree(struct stage *stage, int line, int32_t limit);

void limit_log_note(struct stage *stage, const struct note *note);

/* Whether the limit was such, since it was asked, that it fails as it did. */
bool limit_log_explains(const struct stage *stage, const struct acquisition *a);

#endif
