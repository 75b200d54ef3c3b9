/* How much of everything there was: schedules in which nothing happens prove nothing. */
#ifndef SIM_TALLY_H
#define SIM_TALLY_H

#include <stdint.h>

#include "world/world.h"

struct tally {
    uint64_t steps;
    uint64_t grants, losses, cancels, timeouts, refused; /* for another layout */
    uint64_t handovers;                                  /* from one acquisition to another */
    uint64_t adoptions;                 /* granted though the create's answer was lost */
    uint64_t writes;                    /* fenced transactions applied */
    uint64_t undecided;                 /* applied after their holders were told "unknown" */
    uint64_t stillborn;                 /* delivered too late */
    uint64_t resets;                    /* connections lost */
    uint64_t expiries;                  /* sessions that ended by expiry */
    uint64_t forced;                    /* sessions and contenders that a third party ended */
    uint64_t leaders;                   /* changes of the leader */
    uint64_t asked, failed, proclaimed; /* of elections */
    uint64_t told;                      /* to observers */
    uint64_t terms;                     /* of started elections */
    uint64_t hints;                     /* left by holders */
    uint64_t restores;                  /* the server's data went back */
    uint64_t revoked;                   /* heard that they were asked to give way */
    uint64_t both;                      /* grants of both paths at once */
    uint64_t turns;             /* grants without a node of their own, where mutexes retain */
    uint64_t yielded;           /* grants of tries that found another first, where mutexes retain */
    uint64_t numbered, several; /* grants: with numbers; of more than one permit */
    uint64_t limits, beyond;    /* changes of limits; asked for more than those */
    uint64_t served;            /* while others held on */
    /* of groups: */
    uint64_t joins, gone, busy; /* told to members */
    uint64_t updates, leaves;   /* that succeeded */
    uint64_t seen;              /* told to observers */
};

void tally_note(struct tally *t, const struct note *note);
void tally_add(struct tally *sum, const struct tally *t);

/* The first prints one line. The second tells whether there was enough of everything, for that many
 * schedules of that sort (client.h), and prints what is missing. */
void tally_print(const struct tally *t);
bool tally_suffices(const struct tally *t, uint64_t schedules);

#endif
