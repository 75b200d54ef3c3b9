#include <assert.h>
#include <string.h>

#include "flat.h"
#include "retained.h"

int retained_find(const struct retained_state *st, uint8_t owner, uint8_t generation)
{
    for (uint8_t i = 0; i < st->nodes; i++) {
        if (st->node[i].owner == owner && st->node[i].generation == generation)
            return i;
    }
    return -1;
}

static struct retained_wire *answer(struct retained_handle *h, enum retained_message what,
                                    uint8_t generation)
{
    assert(h->answers < RETAINED_ANSWERS);
    struct retained_wire *w = &h->answer[h->answers++];
    w->what = (uint8_t)what;
    w->generation = generation;
    return w;
}

/* Something was created or deleted: watches fire, and who is first now hears so. */
static void changed(struct retained_state *st)
{
    struct retained_node *head = &st->node[0];

    for (uint8_t i = 0; i < RETAINED_HANDLES; i++) {
        if (!st->h[i].watch)
            continue;
        st->h[i].watch = false;
        answer(&st->h[i], EVENT_CHILD, st->h[i].generation);
    }
    if (st->nodes == 0 || !head->waits)
        return;
    head->waits = false;
    answer(&st->h[head->owner], EVENT_HEAD, head->generation)->others = st->nodes > 1;
}

static void create(struct retained_state *st, uint8_t owner, uint8_t generation)
{
    assert(st->nodes < RETAINED_NODES);
    struct retained_node *node = &st->node[st->nodes++];
    node->owner = owner;
    node->generation = generation;
    changed(st);
}

void retained_foreign_come(struct retained_state *st)
{
    st->arrivals--;
    st->foreign = true;
    create(st, RETAINED_FOREIGNER, 0);
}

void retained_remove(struct retained_state *st, uint8_t at)
{
    flat_remove(st->node, &st->nodes, sizeof st->node[0], at);
    changed(st);
}

/* The driver has dropped the watch of what is not its present attempt. */
static void list(struct retained_state *st, uint8_t h, const struct retained_wire *r)
{
    struct retained_handle *handle = &st->h[h];
    const bool looks = r->what == REQUEST_LOOK;
    const int own = retained_find(st, h, r->generation);
    struct retained_wire *a = answer(handle, looks ? ANSWER_LOOKED : ANSWER_LISTED, r->generation);

    a->watch = r->watch;
    a->absent = own < 0;
    a->ahead = own > 0;
    a->others = st->nodes > (own >= 0);
    if (r->watch && !a->ahead && r->generation == handle->generation && handle->phase != PHASE_NONE)
        handle->watch = true;
    if (!looks && a->ahead && !handle->tries)
        st->node[own].waits = true;
}

void retained_serve(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];
    const struct retained_wire r = handle->request[0];
    int own;

    flat_remove(handle->request, &handle->requests, sizeof handle->request[0], 0);
    if (r.what == REQUEST_CREATE) {
        create(st, h, r.generation);
        answer(handle, ANSWER_CREATED, r.generation)->watch = r.watch;
    } else if (r.what == REQUEST_DELETE) {
        if ((own = retained_find(st, h, r.generation)) >= 0)
            retained_remove(st, (uint8_t)own);
    } else {
        list(st, h, &r);
    }
}

/* ---- connections ---- */

static bool is_list(const struct retained_wire *w)
{
    return w->what == ANSWER_LISTED || w->what == ANSWER_LOOKED;
}

/* A list whose answer is lost is sent again, first; the watch it has left serves nobody. What else
 * was told is told again: an attempt finds its node, watches that were known are replayed. */
void retained_break(struct retained_handle *h)
{
    struct retained_wire kept[RETAINED_ANSWERS] = {{0}}, again[RETAINED_REQUESTS] = {{0}};
    uint8_t answers = 0, requests = 0;
    bool listed = false, watched = false;

    for (uint8_t i = 0; i < h->answers; i++) {
        struct retained_wire *w = &h->answer[i];
        if (is_list(w)) {
            listed = listed || w->what == ANSWER_LISTED;
            watched = watched || w->watch;
            again[requests].what = w->what == ANSWER_LISTED ? REQUEST_LIST : REQUEST_LOOK;
            again[requests].generation = w->generation;
            again[requests++].watch = w->watch;
        } else if (!(w->what == EVENT_CHILD && watched) && !(w->what == EVENT_HEAD && listed)) {
            kept[answers++] = *w;
        }
    }
    h->watch = h->watch && !watched;
    assert(requests + h->requests <= RETAINED_REQUESTS);
    memcpy(&again[requests], h->request, sizeof h->request[0] * h->requests);
    h->requests += requests;
    memcpy(h->request, again, sizeof again);
    h->answers = answers;
    memcpy(h->answer, kept, sizeof kept);
    h->up = false;
}

/* Its nodes vanish; what was under way is begun anew in the next session. */
void retained_expire(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];

    handle->watch = false;
    memset(handle->request, 0, sizeof handle->request);
    memset(handle->answer, 0, sizeof handle->answer);
    handle->requests = handle->answers = 0;
    for (uint8_t i = st->nodes; i-- > 0;) {
        if (st->node[i].owner == h)
            st->node[i].waits = false;
    }
    for (uint8_t i = st->nodes; i-- > 0;) {
        if (st->node[i].owner == h)
            retained_remove(st, i);
    }
    handle->up = true;
    handle->doubt = handle->lapsed = false;
    if (handle->phase == PHASE_ATTEMPT)
        retained_send(handle, REQUEST_CREATE, false);
}
