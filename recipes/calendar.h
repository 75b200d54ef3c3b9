/* Calendars: which instants five fields, as in crontab(5), mean in a zone, and for which of them a
 * call comes.
 *
 * The clock on the wall shows a local time. An instant is meant when this clock reaches a time that
 * the fields name: when it shows that time, or a later one for the first time. So a time that a
 * night of 23 hours leaves out is meant where the clock goes forward, and of a time that comes
 * twice the first is meant: once for each date, in every night. Where the field of hours is a star
 * the times have no names: each instant at which the clock shows one of the minutes is meant.
 *
 * An instant is reached from the slack before it until the next one is. So each call comes for
 * exactly one. docs/design/once.md has the argument. */
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

/* NULL, or what is wrong with the text. */
const char *calendar_read(const char *text, struct calendar *ret);

enum { CALENDAR_PARTS = 16 };

/* What a zone's clocks showed around an instant: parts with an offset each, as times go. In
 * minutes, instants since 1970. The first part has no beginning, the last one no end. */
struct calendar_zone {
    uint32_t count;
    struct {
        int64_t from;
        int32_t offset; /* east of Greenwich */
    } parts[CALENDAR_PARTS];
};

/* Two instants that follow each other are less than that apart: in months of 30 days and fewer
 * there is no 31st. The zone must be known that long before an instant, and twice as long after
 * it. */
#define CALENDAR_GAP_MINUTES INT64_C(90720) /* 63 days */

/* Of what a call is for. */
struct calendar_aim {
    uint64_t instant, next; /* ms since 1970; the one after it */
    int32_t offset;         /* of the zone at the instant, in minutes */
};

/* For which instant a call comes that is made now; ms since 1970. */
struct calendar_aim calendar_aim(const struct calendar *c, const struct calendar_zone *z,
                                 uint64_t now, uint64_t slack_ms);

#endif
