/* What must be true on the stage whatever fails. */
#ifndef TORTURE_STORE_RULES_H
#define TORTURE_STORE_RULES_H

#include "store_fault.h"
#include "store_stage.h"

/* How a run is to be called where it goes wrong. */
void rules_name(const char *scene, enum way way, unsigned nth);

/* Says that the present run is wrong; it goes on. */
void rules_fail(const char *file, int line, const char *what);
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            rules_fail(__FILE__, __LINE__, #condition);                                            \
    } while (0)

/* In this run nothing is refused or taken away. */
bool rules_mere_loss(void);

/* A completion has just given this one. */
void rules_granted(const struct acquisition *t);

/* At most one valid grant on a path, and its node stands. */
void rules_at_step(void);

/* Behind the scene: nothing of ours is left before long, neither there nor here, but the sessions;
 * and all was told once, and rightly. */
void rules_at_end(void);

/* How everything came out, in the order of the calls. */
struct outcomes {
    int codes[ACQUISITIONS_MAX], lost[ACQUISITIONS_MAX], answers[TRANSACTIONS_MAX];
};
struct outcomes rules_outcomes(void);

/* What may come out in this run, when usual comes out if nothing fails, and the code also besides
 * if a request is refused. */
void rules_compare(const struct outcomes *usual, const struct outcomes *now, int also);

#endif
