/* An administrator deletes the node of a contender that is first and proved, and just waits for a
 * deadline: the next proof of its session would grant it the lock. The draws come from a stream of
 * their own, so that a schedule without the administrator is what it would be if there were
 * none. */
#include "lib/contender/contender.h"
#include "roles.h"
#include "unit/seeded.h"

#define MS INT64_C(1000000)
/* Another than that of others; one that leaves known seeds as they were (seeds.c). */
#define STREAM UINT64_C(0x6d6564646c657235)

enum { SCHEDULES_PERCENT = 25, LOOKS = 40 /* in a session timeout */ };

void admin_draw(struct roles *roles, uint64_t seed)
{
    roles->admin = seed ^ STREAM;
    roles->admin_aims = seeded_below(&roles->admin, 100) < SCHEDULES_PERCENT;
}

/* Its path, to be freed, or NULL. */
static char *claiming_node(const struct client *p)
{
    if (p->dead || !p->session)
        return NULL;
    for (const GList *l = contenders_of(p->session)->by_deadline.head; l; l = l->next) {
        const struct contender *c = l->data;
        if (c->machine.state == ST_CLAIMING)
            return contender_own_node(c);
    }
    return NULL;
}

static void on_look(void *data)
{
    struct roles *roles = data;

    if (roles->stage->calm)
        return;
    for (unsigned i = 0; i < roles->members; i++) {
        char *node = claiming_node(roles->member[i].process);
        if (node && seeded_below(&roles->admin, 2) == 0)
            world_admin_delete(roles->stage->world, node);
        g_free(node);
    }
    roles->admin_alarm.at = stage_now(roles->stage) + roles->timeout_ms * MS / LOOKS;
}

void admin_start(struct roles *roles)
{
    roles->admin_alarm = (struct alarm){NEVER, NULL, on_look, roles};
    if (roles->admin_aims)
        roles->admin_alarm.at = stage_now(roles->stage);
    stage_add_alarm(roles->stage, &roles->admin_alarm);
}
