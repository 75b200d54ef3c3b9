#include "parts.h"

size_t parts_of(const zkl_grant *g, zkl_part *parts, size_t room)
{
    zkl_part part;
    size_t count = 0;

    for (; zkl_grant_part(g, count, &part) == 0; count++)
        if (count < room)
            parts[count] = part;
    return count;
}
