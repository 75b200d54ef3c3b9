/* Fenced transactions. Each begins with a set of the grant's own node that asks for the version
 * that node has: refused without the node, it fences; and once applied, the same transaction can
 * never be applied again, so that one whose answer was lost is simply sent again.
 *
 * All with the monitor held. */
#ifndef LIB_MULTI_H
#define LIB_MULTI_H

#include <stdint.h>

#include "core.h"

/* The transactions of one grant, one under way at a time. */
struct multi_line {
    GQueue waiting; /* of struct multi, the first is under way */
    bool stepping;
    bool version_unknown; /* to be read before the next */
    int32_t version;      /* of the own node */
};

#endif
