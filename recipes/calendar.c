#include "calendar.h"

#define MINUTE_MS UINT64_C(60000)

enum { HOUR = 60, DAY = 24 * HOUR };
/* After these minutes, which are 400 years, all days have the same numbers again. */
#define CALENDAR_ERA (INT64_C(146097) * DAY)

/* ---- the text ---- */

/* Reads a number of at most two digits, and moves *at past it. */
static bool calendar_read_number(const char **at, unsigned *ret)
{
    const char *p = *at;

    for (*ret = 0; *p >= '0' && *p <= '9' && p - *at < 2; p++)
        *ret = *ret * 10 + (unsigned)(*p - '0');
    if (p == *at)
        return false;
    *at = p;
    return true;
}

/* Reads "*", "N" or "N-N", each perhaps with "/STEP", and adds the numbers to the set *ret. */
static bool calendar_read_range(const char **at, unsigned least, unsigned most, uint64_t *ret)
{
    unsigned first = least, last = most, step = 1;
    const bool star = **at == '*';

    if (star)
        ++*at;
    else if (!calendar_read_number(at, &first))
        return false;
    if (!star)
        last = first;
    if (!star && **at == '-') {
        ++*at;
        if (!calendar_read_number(at, &last))
            return false;
    }
    if (**at == '/') {
        ++*at;
        if ((!star && last == first) || !calendar_read_number(at, &step) || step == 0)
            return false;
    }
    if (first < least || last > most || first > last)
        return false;
    for (unsigned n = first; n <= last; n += step)
        *ret |= UINT64_C(1) << n;
    return true;
}

/* Reads a field and the blanks after it. *ret_star: the field is a star alone. */
static bool calendar_read_field(const char **at, unsigned least, unsigned most, uint64_t *ret,
                                bool *ret_star)
{
    *ret_star = **at == '*' && ((*at)[1] == ' ' || (*at)[1] == '\t' || (*at)[1] == 0);
    *ret = 0;
    for (;; ++*at) {
        if (!calendar_read_range(at, least, most, ret))
            return false;
        if (**at != ',')
            break;
    }
    if (**at != ' ' && **at != '\t' && **at != 0)
        return false;
    while (**at == ' ' || **at == '\t')
        ++*at;
    return true;
}

const char *calendar_read(const char *text, struct calendar *ret)
{
    uint64_t minutes, hours, days, months, weekdays;
    bool each_minute, each_hour, each_day, each_month, each_weekday;

    if (!calendar_read_field(&text, 0, 59, &minutes, &each_minute))
        return "calendar: the first field must have minutes, 0 to 59";
    if (!calendar_read_field(&text, 0, 23, &hours, &each_hour))
        return "calendar: the second field must have hours, 0 to 23";
    if (!calendar_read_field(&text, 1, 31, &days, &each_day))
        return "calendar: the third field must have days of the month, 1 to 31";
    if (!calendar_read_field(&text, 1, 12, &months, &each_month) || !each_month)
        return "calendar: the fourth field, the month, must be *";
    if (!calendar_read_field(&text, 0, 7, &weekdays, &each_weekday))
        return "calendar: the fifth field must have days of the week, 0 to 7";
    if (*text != 0)
        return "calendar: there must be five fields";
    if (!each_day && !each_weekday)
        return "calendar: one of the days of the month and those of the week must be *";
    *ret = (struct calendar){.minutes = minutes,
                             .hours = (uint32_t)hours,
                             .days = (uint32_t)days,
                             .weekdays = (uint8_t)((weekdays | weekdays >> 7) & 0x7f),
                             .each_hour = each_hour};
    return NULL;
}

/* ---- local times, in minutes since 1570, so that none is below 0 ---- */

/* Returns the day of the month, 1 to 31. Years are counted from March on, so that a leap day is the
 * last one (Howard Hinnant's days). */
static unsigned calendar_day_of_month(int64_t days)
{
    const int64_t of_era = (days + 719468) % 146097;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);

    return (unsigned)(of_year - (153 * ((5 * of_year + 2) / 153) + 2) / 5 + 1);
}

/* Whether the fields name any minute of that local hour. */
static bool calendar_has_hour(const struct calendar *c, int64_t local)
{
    const int64_t days = local / DAY;

    return (c->hours >> (local % DAY / HOUR) & 1) != 0 &&
           (c->weekdays >> ((days + 4) % 7) & 1) != 0 && /* 1970 began on a Thursday */
           (c->days >> calendar_day_of_month(days) & 1) != 0;
}

static bool calendar_has(const struct calendar *c, int64_t local)
{
    return (c->minutes >> (local % HOUR) & 1) != 0 && calendar_has_hour(c, local);
}

/* ---- instants, in minutes ---- */

static uint32_t calendar_part_at(const struct calendar_zone *z, int64_t t)
{
    uint32_t i = z->count - 1;

    while (i > 0 && z->parts[i].from > t)
        i--;
    return i;
}

static int64_t calendar_local(const struct calendar_zone *z, uint32_t part, int64_t t)
{
    return t + z->parts[part].offset + CALENDAR_ERA;
}

/* Returns the latest local time that the clock has come to before that part begins. */
static int64_t calendar_shown(const struct calendar_zone *z, uint32_t part)
{
    int64_t shown = 0;

    for (uint32_t i = 1; i <= part; i++) {
        const int64_t end = calendar_local(z, i - 1, z->parts[i].from);
        if (end > shown)
            shown = end;
    }
    return shown;
}

/* Whether the calendar means the instant t. At the beginning of a part, it means each time that the
 * clock passes over. */
static bool calendar_means(const struct calendar *c, const struct calendar_zone *z, int64_t t)
{
    const uint32_t part = calendar_part_at(z, t);
    const int64_t local = calendar_local(z, part, t);

    if (c->each_hour || part == 0)
        return calendar_has(c, local);
    if (t > z->parts[part].from)
        return local >= calendar_shown(z, part) && calendar_has(c, local);
    for (int64_t reached = calendar_shown(z, part); reached <= local; reached++)
        if (calendar_has(c, reached))
            return true;
    return false;
}

/* Returns the first instant after t that is meant. The search passes over the rest of an hour that
 * has no time, but stops where another part begins. */
static int64_t calendar_after(const struct calendar *c, const struct calendar_zone *z, int64_t t)
{
    for (const int64_t end = ++t + CALENDAR_GAP_MINUTES; t < end && !calendar_means(c, z, t);) {
        const uint32_t part = calendar_part_at(z, t);
        const int64_t local = calendar_local(z, part, t);
        const int64_t ends = part + 1 < z->count ? z->parts[part + 1].from : end;
        const int64_t to = calendar_has_hour(c, local) ? t + 1 : t + HOUR - local % HOUR;
        t = to > ends ? ends : to;
    }
    return t;
}

/* Returns the last instant up to t that is meant, by the same search backwards. */
static int64_t calendar_up_to(const struct calendar *c, const struct calendar_zone *z, int64_t t)
{
    for (const int64_t end = t - CALENDAR_GAP_MINUTES; t > end && !calendar_means(c, z, t);) {
        const uint32_t part = calendar_part_at(z, t);
        const int64_t local = calendar_local(z, part, t);
        const int64_t begins = part > 0 ? z->parts[part].from : end;
        const int64_t to = calendar_has_hour(c, local) ? t - 1 : t - local % HOUR - 1;
        t = t == begins ? t - 1 : to < begins ? begins : to;
    }
    return t;
}

struct calendar_aim calendar_aim(const struct calendar *c, const struct calendar_zone *z,
                                 uint64_t now, uint64_t slack_ms)
{
    const int64_t last = calendar_up_to(c, z, (int64_t)(now / MINUTE_MS));
    const int64_t next = calendar_after(c, z, last);
    const uint64_t half = (uint64_t)(next - last) * MINUTE_MS / 2;
    const uint64_t early = slack_ms < half ? slack_ms : half;
    const int64_t found = now + early >= (uint64_t)next * MINUTE_MS ? next : last;
    const int64_t at = found > 0 ? found : 0; /* a server's clock may be at 1970 */

    return (struct calendar_aim){
        .instant = (uint64_t)at * MINUTE_MS,
        .next = (uint64_t)(at == next ? calendar_after(c, z, next) : next) * MINUTE_MS,
        .offset = z->parts[calendar_part_at(z, at)].offset,
    };
}
