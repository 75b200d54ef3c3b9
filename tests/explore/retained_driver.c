#include <assert.h>

#include "flat.h"
#include "retained.h"

bool retained_is_sure(const struct retained_handle *h)
{
    return !h->doubt && !h->lapsed && !h->dead;
}

static void request(struct retained_handle *h, enum retained_message what, uint8_t generation,
                    bool watch)
{
    assert(h->requests < RETAINED_REQUESTS);
    struct retained_wire *w = &h->request[h->requests++];
    w->what = (uint8_t)what;
    w->generation = generation;
    w->watch = watch;
}

void retained_send(struct retained_handle *h, enum retained_message what, bool watch)
{
    request(h, what, h->generation, watch);
}

/* ---- callers ---- */

static uint8_t take_from_line(struct retained_handle *h, uint8_t at)
{
    const uint8_t caller = h->line[at];

    flat_remove(h->line, &h->waiting, 1, at);
    return caller;
}

bool retained_has_turn(const struct retained_handle *h)
{
    for (uint8_t i = 0; i < RETAINED_CALLERS; i++) {
        if (h->caller[i] == CALLER_HAS)
            return true;
    }
    return false;
}

void retained_lose_turn(struct retained_handle *h)
{
    for (uint8_t i = 0; i < RETAINED_CALLERS; i++) {
        if (h->caller[i] == CALLER_HAS)
            h->caller[i] = CALLER_LOST;
    }
}

/* ---- actions ---- */

static void check_turn(struct retained_state *st, uint8_t h, uint64_t turn)
{
    const struct retained_handle *handle = &st->h[h];
    const int own = retained_find(st, h, handle->generation);

    retained_require(st, handle->phase == PHASE_SPAN && retained_is_sure(handle), RETAINED_UNSURE);
    retained_require(st, !retained_has_turn(handle), RETAINED_EXCLUSION);
    retained_require(st, own == 0 || (own < 0 && handle->deleted), RETAINED_TOKEN);
    retained_require(st, own < 0 || turn >= st->node[own].served, RETAINED_TOKEN);
    if (own >= 0)
        st->node[own].served = (uint8_t)(turn + 1);
    if (handle->heard)
        retained_require(st, handle->gate > 0 && !handle->late, RETAINED_GATE);
}

static void begin_turn(struct retained_state *st, uint8_t h, uint64_t turn)
{
    struct retained_handle *handle = &st->h[h];

    retained_require(st, handle->waiting > 0, RETAINED_ORDER);
    check_turn(st, h, turn);
    if (handle->waiting == 0)
        return;
    const uint8_t caller = take_from_line(handle, 0);
    retained_require(st, !retained_config.fence64 || turn == 0 || handle->owner == caller + 1,
                     RETAINED_TOKEN);
    handle->caller[caller] = CALLER_HAS;
    handle->owner = (uint8_t)(caller + 1);
    if (handle->gate > 0)
        handle->gate--;
}

static void refuse(struct retained_state *st, struct retained_handle *h, bool last)
{
    retained_require(st, h->waiting > 0, RETAINED_ORDER);
    if (h->waiting == 0)
        return;
    const uint8_t caller = take_from_line(h, last ? h->waiting - 1 : 0);
    retained_require(st, h->caller[caller] == CALLER_TRIES, RETAINED_TRIER);
    h->caller[caller] = CALLER_OUT;
}

static bool is_used(const struct retained_state *st, uint8_t h, uint8_t generation)
{
    const struct retained_handle *handle = &st->h[h];

    if (retained_find(st, h, generation) >= 0 || handle->generation == generation)
        return true;
    for (uint8_t i = 0; i < handle->requests; i++) {
        if (handle->request[i].generation == generation)
            return true;
    }
    for (uint8_t i = 0; i < handle->answers; i++) {
        if (handle->answer[i].generation == generation)
            return true;
    }
    return false;
}

void retained_forget_tenure(struct retained_handle *h)
{
    for (uint8_t i = 0; i < RETAINED_CALLERS; i++) {
        if (h->caller[i] == CALLER_LOST)
            h->caller[i] = CALLER_STALE;
    }
    h->phase = PHASE_NONE;
    h->heard = h->late = h->dead = h->looking = h->watch = h->deleted = false;
    h->gate = 0;
}

static void enter(struct retained_state *st, uint8_t h, const struct retain_action *a)
{
    struct retained_handle *handle = &st->h[h];
    uint8_t generation = 1;

    retained_require(st, handle->phase == PHASE_NONE, RETAINED_ORDER);
    retained_require(st, handle->waiting > 0, RETAINED_ORDER);
    retained_require(st, a->tries == (handle->caller[handle->line[0]] == CALLER_TRIES),
                     RETAINED_TRIER);
    retained_require(st, a->watch ? handle->alone : !handle->alone || retained_config.guard,
                     RETAINED_WATCH);
    while (is_used(st, h, generation))
        generation++;
    handle->generation = generation;
    handle->phase = PHASE_ATTEMPT;
    handle->tries = a->tries;
    retained_send(handle, REQUEST_CREATE, a->watch);
}

static void fail_first(struct retained_state *st, struct retained_handle *h)
{
    retained_require(st, h->waiting > 0, RETAINED_ORDER);
    if (h->waiting > 0)
        h->caller[take_from_line(h, 0)] = CALLER_OUT;
}

static void perform(struct retained_state *st, uint8_t h, const struct retain_action *a)
{
    struct retained_handle *handle = &st->h[h];

    switch (a->kind) {
    case RETAIN_ACT_TURN:
        begin_turn(st, h, a->turn);
        break;
    case RETAIN_ACT_BUSY:
        refuse(st, handle, a->last);
        break;
    case RETAIN_ACT_ENTER:
        enter(st, h, a);
        break;
    case RETAIN_ACT_ABANDON:
        retained_require(st, handle->phase == PHASE_ATTEMPT && handle->waiting == 0,
                         RETAINED_ORDER);
        retained_forget_tenure(handle);
        retained_send(handle, REQUEST_DELETE, false);
        break;
    case RETAIN_ACT_LOOK:
        retained_require(st, handle->phase == PHASE_SPAN && !handle->looking, RETAINED_ORDER);
        handle->looking = true;
        retained_send(handle, REQUEST_LOOK, true);
        break;
    case RETAIN_ACT_END:
        retained_require(st, false, RETAINED_ORDER); /* see perform_all() */
        break;
    case RETAIN_ACT_FAIL:
        fail_first(st, handle);
        break;
    case RETAIN_ACT_ARM:
        handle->armed = true;
        handle->due = a->at - RETAINED_NOW;
        break;
    }
}

/* The node that ends is the one before what is entered, which so finds somebody ahead. One that
 * tries enters behind its end. */
static void perform_all(struct retained_state *st, uint8_t h, const struct retain_actions *actions)
{
    struct retained_handle *handle = &st->h[h];
    const uint8_t generation = handle->generation;
    bool ends = false, entered = false, tries = false;

    for (uint32_t i = 0; i < actions->count; i++) {
        ends = ends || actions->list[i].kind == RETAIN_ACT_END;
        tries = tries || actions->list[i].tries;
    }
    if (ends) {
        retained_require(st, handle->phase == PHASE_SPAN && !retained_has_turn(handle),
                         RETAINED_ORDER);
        retained_forget_tenure(handle);
        handle->alone = handle->alone && (tries || handle->waiting == 0);
    }
    for (uint32_t i = 0; i < actions->count; i++) {
        entered = entered || actions->list[i].kind == RETAIN_ACT_ENTER;
        if (actions->list[i].kind != RETAIN_ACT_END) {
            perform(st, h, &actions->list[i]);
            continue;
        }
        retained_require(st, entered || tries || handle->waiting == 0, RETAINED_PLACE);
        request(handle, REQUEST_DELETE, generation, false);
    }
}

void retained_step(struct retained_state *st, uint8_t h, struct retain_event ev)
{
    struct retained_handle *handle = &st->h[h];
    struct retain_actions actions;

    ev.now = RETAINED_NOW;
    ev.sure = retained_is_sure(handle);
    ev.same = handle->waiting > 0 && handle->owner == handle->line[0] + 1;
    retain_step(&handle->machine, &ev, &actions);
    perform_all(st, h, &actions);
}
