/* Nothing is told that is older than what was told before, unless there is nothing newer. */
#include "lib/base/clock.h"
#include "lib/session/core.h"
#include "view.h"

bool view_holds_back(struct view *v)
{
    const int64_t patience = session_patience_ms(v->watch.session) * CLOCK_MS;

    if (!newest_holds_back(&v->newest, clock_now().boot, patience))
        return false;
    if (v->watch.machine.state == CHILDREN_READING)
        children_watch_older(&v->watch);
    return true;
}

bool view_is_older(const struct view *v)
{
    GHashTableIter i;
    void *value;
    bool older = false;

    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value)) {
        struct view_entry *e = value;
        if (e->listed && group_is_older(e->told, e->now))
            older = e->dirty = true;
    }
    return older;
}

void view_reread(struct view *v)
{
    GHashTableIter i;
    void *value;

    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value))
        ((struct view_entry *)value)->dirty = true;
}
