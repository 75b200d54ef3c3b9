/* The way in. Of the contenders of one session on one path so many enter at a time, in the order in
 * which they came. The server handles their requests in order, and those behind cannot be granted
 * before them; but what thousands had under way at once would lie in memory between what stays. */
#include "contender_requests.h"
#include "epoch.h"

enum { ABREAST = 32 };

struct door {
    char *path; /* GRefString */
    zkl_session *session;
    unsigned users;    /* the contenders, and who opens it */
    unsigned entering; /* have not found their place yet */
    bool opening;
    GQueue outside; /* of struct contender */
};

struct door *door_use(zkl_session *s, char *path)
{
    struct door *d = g_hash_table_lookup(s->doors, path);

    if (!d) {
        d = g_new0(struct door, 1);
        d->path = g_ref_string_acquire(path);
        d->session = s;
        g_hash_table_insert(s->doors, d->path, d);
    }
    d->users++;
    return d;
}

void door_unuse(struct door *d)
{
    if (--d->users > 0)
        return;
    g_hash_table_remove(d->session->doors, d->path);
    g_ref_string_release(d->path);
    g_free(d);
}

char *door_path(const struct door *d)
{
    return d->path;
}

/* From outside. The session is warm or new when it begins: with others there it is, and must not be
 * replaced in the midst of their step. */
static void enter(struct contender *c)
{
    zkl_session *s = c->session;

    g_queue_unlink(&c->door->outside, &c->link);
    g_queue_push_tail_link(&s->contenders, &c->link);
    c->progress = ENTERING;
    c->door->entering++;
    if (s->contenders.length == 1)
        epoch_warm(s);
    contender_step(c, &(struct event){.kind = EV_ENTER});
}

/* One that cannot even send its create is through at once, and would open in turn. */
static void open_door(struct door *d)
{
    if (d->opening)
        return;
    d->opening = true;
    d->users++;
    while (d->entering < ABREAST && !g_queue_is_empty(&d->outside))
        enter(g_queue_peek_head(&d->outside));
    d->opening = false;
    door_unuse(d);
}

void door_enter(struct contender *c)
{
    c->progress = OUTSIDE;
    g_queue_push_tail_link(&c->door->outside, &c->link);
    open_door(c->door);
}

static bool is_through(enum contend_state state)
{
    return state == ST_WAITING || state == ST_CLAIMING || state == ST_HOLDING || state == ST_DONE;
}

void door_passed(struct contender *c)
{
    if (c->progress != ENTERING || !is_through(c->machine.state))
        return;
    c->progress = INSIDE;
    c->door->entering--;
    open_door(c->door);
}

void door_leave(struct contender *c)
{
    bool outside = c->progress == OUTSIDE;

    g_queue_unlink(outside ? &c->door->outside : &c->session->contenders, &c->link);
}

void doors_abort(zkl_session *s, int code, const char *text)
{
    GList *doors = g_hash_table_get_values(s->doors);

    for (GList *l = doors; l; l = l->next)
        ((struct door *)l->data)->users++;
    for (GList *l = doors; l; l = l->next) {
        struct door *d = l->data;
        for (guint n = d->outside.length; n > 0 && !g_queue_is_empty(&d->outside); n--)
            contender_abort(g_queue_peek_head(&d->outside), code, text);
        door_unuse(d);
    }
    g_list_free(doors);
}
