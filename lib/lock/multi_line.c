/* Who waits until no transaction of a grant is under way. */
#include "grant.h"
#include "multi.h"

void multi_tell_idle(struct multi_line *line)
{
    const struct multi *first = g_queue_peek_head(&line->waiting);
    void (*fn)(void *data) = line->when_idle;

    if (!fn || (first && first->begun))
        return;
    line->when_idle = NULL;
    fn(line->idle_data);
}

void multi_when_idle(zkl_grant *g, void (*fn)(void *data), void *data)
{
    struct multi_line *line = grant_line(g);

    line->when_idle = fn;
    line->idle_data = data;
    multi_tell_idle(line);
}
