#include "zone.h"

#include <pthread.h>
#include <string.h>

/* Refuses rules, offsets, paths, and files that are no zone, though GLib takes them: a record must
 * name a zone that every host reads alike. The thread cannot be cancelled while GLib reads the
 * file, since GLib has a lock then. */
GTimeZone *zone_open(const char *name)
{
    static const char all[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_/+-";
    int before;

    if (name[strspn(name, all)] != 0 ||
        (strcmp(name, "UTC") != 0 && (name[0] == '/' || !strchr(name, '/'))))
        return NULL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    GTimeZone *zone = g_time_zone_new_identifier(name);
    pthread_setcancelstate(before, NULL);
    if (zone && strcmp(g_time_zone_get_identifier(zone), name) == 0)
        return zone;
    g_clear_pointer(&zone, g_time_zone_unref);
    return NULL;
}

/* Returns the number of the zone's interval that contains that minute since 1970. The offset is the
 * same in all of an interval. */
static int zone_interval(GTimeZone *zone, int64_t minute)
{
    return g_time_zone_find_interval(zone, G_TIME_TYPE_UNIVERSAL, minute * 60);
}

/* Returns the first minute of that interval, by bisection. The minute is later than before, and
 * within is in the interval or after it. */
static int64_t zone_begins(GTimeZone *zone, int interval, int64_t before, int64_t within)
{
    while (within - before > 1) {
        const int64_t middle = before + (within - before) / 2;
        if (zone_interval(zone, middle) >= interval)
            within = middle;
        else
            before = middle;
    }
    return within;
}

/* Returns the offset of an interval, in minutes. */
static int32_t zone_minutes(GTimeZone *zone, int interval)
{
    return g_time_zone_get_offset(zone, interval) / 60;
}

struct calendar_zone zone_around(GTimeZone *zone, uint64_t now)
{
    const int64_t minute = (int64_t)(now / 60000);
    const int64_t first = minute - CALENDAR_GAP_MINUTES, last = minute + 2 * CALENDAR_GAP_MINUTES;
    const int end = zone_interval(zone, last);
    int interval = zone_interval(zone, first);
    struct calendar_zone z = {.count = 1};

    z.parts[0].from = first;
    z.parts[0].offset = zone_minutes(zone, interval);
    while (interval < end && z.count < CALENDAR_PARTS) {
        z.parts[z.count].from = zone_begins(zone, ++interval, z.parts[z.count - 1].from, last);
        z.parts[z.count++].offset = zone_minutes(zone, interval);
    }
    return z;
}

int32_t zone_offset(GTimeZone *zone, uint64_t now)
{
    return zone_minutes(zone, zone_interval(zone, (int64_t)(now / 60000)));
}
