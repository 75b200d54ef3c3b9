/* Zones, from the system's tzdata: what their clocks show, as calendars read it
 * (recipes/calendar.h). The environment's TZ and the host's own zone count for nothing. */
#ifndef LIB_ZONE_H
#define LIB_ZONE_H

#include <glib.h>

#include "recipes/calendar.h"

/* "UTC", or a name of tzdata's with an area, as "Europe/Berlin". NULL: there is none. */
GTimeZone *zone_open(const char *name);

/* As much of it as calendar_aim() needs around now; ms since 1970. A part beyond CALENDAR_PARTS is
 * left out: no zone has had a third as many. */
struct calendar_zone zone_around(GTimeZone *zone, uint64_t now);

/* In minutes. */
int32_t zone_offset(GTimeZone *zone, uint64_t now);

#endif
