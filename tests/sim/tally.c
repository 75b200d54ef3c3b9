#include "tally.h"

#include "client.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* least: in a thousand schedules; half as many of Curator's semaphores, which wait for a lock. */
static const struct {
    const char *name;
    size_t at;
    uint64_t least;
    bool of_all; /* even where all locks are read-write locks */
} counts[] = {
    {"steps", offsetof(struct tally, steps), 1000000, true},
    {"grants", offsetof(struct tally, grants), 8000, true},
    {"losses", offsetof(struct tally, losses), 800, true},
    {"cancels", offsetof(struct tally, cancels), 2000, true},
    {"timeouts", offsetof(struct tally, timeouts), 1000, true},
    {"refused", offsetof(struct tally, refused), 500, false},
    {"hand-overs", offsetof(struct tally, handovers), 8000, true},
    {"adoptions", offsetof(struct tally, adoptions), 200, true},
    {"writes", offsetof(struct tally, writes), 1000, true},
    {"undecided writes", offsetof(struct tally, undecided), 50, true},
    {"late grants", offsetof(struct tally, stillborn), 20, true},
    {"disconnections", offsetof(struct tally, resets), 3000, true},
    {"expiries", offsetof(struct tally, expiries), 1000, true},
    {"ended by others", offsetof(struct tally, forced), 1500, true},
    {"leaders", offsetof(struct tally, leaders), 300, true},
    {"terms", offsetof(struct tally, terms), 2000, false},
    {"asked to step down", offsetof(struct tally, asked), 100, false},
    {"failed campaigns", offsetof(struct tally, failed), 50, false},
    {"proclaimed", offsetof(struct tally, proclaimed), 800, false},
    {"told to observers", offsetof(struct tally, told), 2500, false},
    {"head hints", offsetof(struct tally, hints), 100, false},
    {"restores", offsetof(struct tally, restores), 10, false},
    {"grants of both paths", offsetof(struct tally, both), 200, false},
    {"revoked", offsetof(struct tally, revoked), 50, false},
    {"turns", offsetof(struct tally, turns), 300, false},
    {"yielded to tries", offsetof(struct tally, yielded), 10, false},
    {"numbered", offsetof(struct tally, numbered), 1000, false},
    {"of several permits", offsetof(struct tally, several), 1000, false},
    {"limits", offsetof(struct tally, limits), 1000, false},
    {"beyond the limit", offsetof(struct tally, beyond), 300, false},
    {"served beside others", offsetof(struct tally, served), 100, false},
    {"joins", offsetof(struct tally, joins), 8000, false},
    {"members gone", offsetof(struct tally, gone), 1500, false},
    {"ids of others", offsetof(struct tally, busy), 2000, false},
    {"updates", offsetof(struct tally, updates), 10000, false},
    {"leaves", offsetof(struct tally, leaves), 4000, false},
    {"seen by observers", offsetof(struct tally, seen), 15000, false},
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

static bool is_of_groups(int i)
{
    return counts[i].at >= offsetof(struct tally, joins);
}

/* Where nobody locks anything. */
static bool is_of_the_world(int i)
{
    const size_t at = counts[i].at;

    return at == offsetof(struct tally, steps) || at == offsetof(struct tally, restores) ||
           (at >= offsetof(struct tally, resets) && at <= offsetof(struct tally, leaders));
}

static bool is_of_permits(int i)
{
    return counts[i].at >= offsetof(struct tally, numbered) && !is_of_groups(i);
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

static bool is_needed(int i)
{
    if (client_grouping || is_of_groups(i))
        return client_grouping && (is_of_groups(i) || is_of_the_world(i));
    if (is_of_retention(i))
        return client_retaining;
    if (is_of_permits(i))
        return client_counting &&
               (!client_leasing || counts[i].at == offsetof(struct tally, several) ||
                counts[i].at >= offsetof(struct tally, beyond));
    return counts[i].of_all || !(client_sharing || client_counting);
}

/* In so many schedules. In Curator's layout there are fewer waits to be adopted. */
static uint64_t least_of(int i, uint64_t schedules)
{
    if (client_leasing && counts[i].at == offsetof(struct tally, adoptions))
        return 90 * schedules / 1000;
    return counts[i].least * schedules / (client_leasing ? 2000 : 1000);
}

bool tally_suffices(const struct tally *t, uint64_t schedules)
{
    bool enough = true;

    for (int i = 0; i < COUNTS; i++) {
        const uint64_t least = least_of(i, schedules);
        if (*at(t, i) >= least || !is_needed(i))
            continue;
        printf("too few %s: %" PRIu64 ", at least %" PRIu64 " are needed\n", counts[i].name,
               *at(t, i), least);
        enough = false;
    }
    return enough;
}
