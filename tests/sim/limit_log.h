/* Which limit the semaphores of a path had, and when. The limit is what their data said, or in
 * Curator's layout the one that all agree on. */
#ifndef SIM_LIMIT_LOG_H
#define SIM_LIMIT_LOG_H

#include "oracle.h"

void limit_log_init(struct oracle *o);
void limit_log_clear(struct oracle *o);

/* The limit now; 0: there is none. */
int32_t limit_log_now(const struct oracle *o, int line);

/* All agree on it, in Curator's layout. */
void limit_log_agree(struct stage *stage, int line, int32_t limit);

void limit_log_note(struct stage *stage, const struct note *note);

/* Whether the limit was such, since it was asked, that it fails as it did. */
bool limit_log_explains(const struct stage *stage, const struct acquisition *a);

#endif
