/* What the parts of the judge share. */
#ifndef HISTORY_COURT_H
#define HISTORY_COURT_H

#include "judge.h"

#define MS(ns) ((double)(ns) / 1e6)

struct court {
    const judge_input *in;
    holds *h;
    judgement *j;
    GHashTable *path_of; /* token -> 1 + path */
    bool fell;           /* the grant that is looked at has a token that does not rise */
};

G_GNUC_PRINTF(5, 6)
void court_violate(struct court *c, int number, int path, int64_t at, const char *format, ...);

const hold *court_nth(const struct court *c, guint i);
int court_path_of(const struct court *c, uint64_t token); /* -1: of no hold */
bool court_is_later(uint64_t token, uint64_t turn, uint64_t than, uint64_t than_turn);

bool court_was_killed(const GArray *events, int pid, int64_t by);

void court_exclusion(struct court *c); /* V1, V2, V3 among grants, V8 */
void court_registers(struct court *c); /* V4 */
void court_runs(struct court *c);      /* V10 */

#endif
