/* Time zones from the system's tzdata, for calendars (recipes/calendar.h). The environment's TZ and
 * the host's own zone count for nothing. Instants are ms since 1970. */
#ifndef LIB_ZONE_H
#define LIB_ZONE_H

#include <glib.h>

#include "recipes/calendar.h"

/* Opens a zone: "UTC", or a name in tzdata with an area, as "Europe/Berlin". Returns NULL if there
 * is none of that name. */
GTimeZone *zone_open(const char *name);

/* Returns the parts of the zone around now that calendar_aim() needs. Parts beyond CALENDAR_PARTS
 * are left out; no zone has had a third as many. */
struct calendar_zone zone_around(GTimeZone *zone, uint64_t now);

/* Returns by how many minutes the zone's clocks are ahead of UTC at now. */
int32_t zone_offset(GTimeZone *zone, uint64_t now);

#endif
