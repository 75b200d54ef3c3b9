/* Calendars: which instants five fields mean in a zone, as in crontab(5), and for which instant a
 * call comes.
 *
 * The fields name local times, as the clock on the wall shows them. On each of its dates a time has
 * one instant that is meant. If a time comes twice, as in a night of 25 hours, the first instant is
 * meant. If a night of 23 hours leaves a time out, the instant is meant at which the clock goes
 * forward past it. If the field of hours is a star, the fields name no times: each instant is meant
 * at which the clock shows one of the minutes.
 *
 * Each call is for exactly one instant. If the next instant that is meant comes within the slack,
 * the call is for that one; else it is for the latest one that has come. A slack of more than half
 * the time between the two counts as that half. docs/design/once.md has the argument. */
#ifndef RECIPES_CALENDAR_H
#define RECIPES_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of numbers, a bit for each. */
struct calendar {
    uint64_t minutes;
    uint32_t hours, days; /* of the month */
    uint8_t weekdays;     /* 0 is Sunday */
    bool each_hour;       /* the field of hours is a star */
};

/* Reads the five fields. Returns NULL, or what is wrong with the text. */
const char *calendar_read(const char *text, struct calendar *ret);

enum { CALENDAR_PARTS = 16 };

/* What a zone's clocks showed around an instant: parts in the order of time, each with one offset.
 * All are in minutes, instants since 1970. The first part has no beginning, and the last one no
 * end. */
struct calendar_zone {
    uint32_t count;
    struct {
        int64_t from;
        int32_t offset; /* east of Greenwich */
    } parts[CALENDAR_PARTS];
};

/* The longest time between two instants that follow each other is less than this: a month of 30
 * days or fewer has no 31st. The zone must be known for this long before an instant, and for twice
 * as long after it. */
#define CALENDAR_GAP_MINUTES INT64_C(90720) /* 63 days */

/* The instant that a call is for. */
struct calendar_aim {
    uint64_t instant, next; /* that instant, and the one after it; ms since 1970 */
    int32_t offset;         /* of the zone at the instant, in minutes */
};

/* Returns the instant that a call at now is for. now: ms since 1970. */
struct calendar_aim calendar_aim(const struct calendar *c, const struct calendar_zone *z,
                                 uint64_t now, uint64_t slack_ms);

#endif
