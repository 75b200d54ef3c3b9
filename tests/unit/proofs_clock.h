/* Times for tests of the proofs. The two clocks stand far apart, as they do after a suspension, so
 * that mixing them up shows. */
#ifndef UNIT_PROOFS_CLOCK_H
#define UNIT_PROOFS_CLOCK_H

#include "proofs.h"

#define MS INT64_C(1000000)
#define BOOT_BASE (INT64_C(5000000) * MS)
#define RAW_BASE (INT64_C(1000000) * MS)

/* Both clocks at that time since the test's beginning; then one of them apart. */
static inline struct instant at(int64_t ms)
{
    return (struct instant){BOOT_BASE + ms * MS, RAW_BASE + ms * MS};
}

static inline struct instant at_each(int64_t boot_ms, int64_t raw_ms)
{
    return (struct instant){BOOT_BASE + boot_ms * MS, RAW_BASE + raw_ms * MS};
}

/* The deadline in ms since the test's beginning. */
static inline int64_t deadline_ms(const struct proofs *p)
{
    return (p->deadline.boot - BOOT_BASE) / MS;
}

static inline bool request(struct proofs *p, enum proof_kind kind, int64_t sent, int64_t answered)
{
    proofs_sent(p, kind, at(sent));
    return proofs_answered(p, kind, at(sent), at(answered));
}

#endif
