#include "tally.h"

#include "client.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* least: in a thousand schedules. */
static const struct {
    const char *name;
    size_t at;
    uint64_t least;
} counts[] = {
    {"steps", offsetof(struct tally, steps), 1000000},
    {"grants", offsetof(struct tally, grants), 8000},
    {"losses", offsetof(struct tally, losses), 800},
    {"cancels", offsetof(struct tally, cancels), 2000},
    {"timeouts", offsetof(struct tally, timeouts), 1000},
    {"refused", offsetof(struct tally, refused), 500},
    {"hand-overs", offsetof(struct tally, handovers), 8000},
    {"adoptions", offsetof(struct tally, adoptions), 200},
    {"writes", offsetof(struct tally, writes), 1000},
    {"undecided writes", offsetof(struct tally, undecided), 50},
    {"late grants", offsetof(struct tally, stillborn), 20},
    {"disconnections", offsetof(struct tally, resets), 3000},
    {"expiries", offsetof(struct tally, expiries), 1000},
    {"ended by others", offsetof(struct tally, forced), 1500},
    {"leaders", offsetof(struct tally, leaders), 300},
    {"terms", offsetof(struct tally, terms), 2000},
    {"asked to step down", offsetof(struct tally, asked), 150},
    {"failed campaigns", offsetof(struct tally, failed), 50},
    {"proclaimed", offsetof(struct tally, proclaimed), 800},
    {"told to observers", offsetof(struct tally, told), 2500},
    {"head hints", offsetof(struct tally, hints), 100},
    {"restores", offsetof(struct tally, restores), 10},
    {"revoked", offsetof(struct tally, revoked), 50},
    {"turns", offsetof(struct tally, turns), 300},
    {"yielded to tries", offsetof(struct tally, yielded), 10},
};

/* A path with locks alone. */
enum { HINTED = 1 };

enum { COUNTS = sizeof counts / sizeof *counts };

static uint64_t *at(const struct tally *t, int i)
{
    return (uint64_t *)((uintptr_t)t + counts[i].at);
}

static bool is_of_retention(int i)
{
    return counts[i].at == offsetof(struct tally, turns) ||
           counts[i].at == offsetof(struct tally, yielded);
}

void tally_note(struct tally *t, const struct note *note)
{
    t->resets += note->kind == NOTE_EVENT && note->event == STORE_EV_DOWN;
    t->expiries += note->kind == NOTE_SESSION_END && note->cause == CAUSE_EXPIRY;
    t->forced += (note->kind == NOTE_DELETED && note->cause == CAUSE_ADMIN) ||
                 (note->kind == NOTE_SESSION_END && note->cause == CAUSE_FORCED);
    t->hints += note->kind == NOTE_CHANGED && strcmp(note->path, client_paths[HINTED]) == 0;
    t->leaders += note->kind == NOTE_LEADER && note->server >= 0;
}

void tally_add(struct tally *sum, const struct tally *t)
{
    for (int i = 0; i < COUNTS; i++)
        *at(sum, i) += *at(t, i);
}

void tally_print(const struct tally *t)
{
    for (int i = 0; i < COUNTS; i++)
        printf("%s%" PRIu64 " %s", i == 0 ? "" : ", ", *at(t, i), counts[i].name);
    printf("\n");
}

bool tally_suffices(const struct tally *t, uint64_t schedules, bool retaining)
{
    bool enough = true;

    for (int i = 0; i < COUNTS; i++) {
        uint64_t least = counts[i].least * schedules / 1000;
        if (*at(t, i) >= least || (is_of_retention(i) && !retaining))
            continue;
        printf("too few %s: %" PRIu64 ", at least %" PRIu64 " are needed\n", counts[i].name,
               *at(t, i), least);
        enough = false;
    }
    return enough;
}
