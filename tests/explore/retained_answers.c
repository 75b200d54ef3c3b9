#include "flat.h"
#include "retained.h"

/* That somebody else is there, or may be. */
static void hear(struct retained_handle *h)
{
    if (h->heard)
        return;
    h->heard = true;
    h->gate = h->waiting < retained_config.local_turns ? h->waiting
                                                       : (uint8_t)retained_config.local_turns;
}

static void grant(struct retained_state *st, uint8_t h, const struct retained_wire *a)
{
    struct retained_handle *handle = &st->h[h];
    const bool waited = a->what == EVENT_HEAD;
    const bool others = a->others && !(waited && retained_config.blind);

    handle->phase = PHASE_SPAN;
    handle->alone = !waited && !others;
    retained_step(st, h,
                  (struct retain_event){.kind = RETAIN_EV_GRANTED,
                                        .waited = waited,
                                        .others = others,
                                        .watched = a->watch && !waited});
    if (others && handle->phase == PHASE_SPAN)
        hear(handle);
}

void retained_fail(struct retained_state *st, uint8_t h, bool busy)
{
    retained_forget_tenure(&st->h[h]);
    st->h[h].alone = false;
    retained_send(&st->h[h], REQUEST_DELETE, false);
    retained_step(st, h, (struct retain_event){.kind = RETAIN_EV_FAILED, .busy = busy});
}

static void on_rival(struct retained_state *st, uint8_t h, struct retain_event ev)
{
    struct retained_handle *handle = &st->h[h];

    if (handle->phase == PHASE_SPAN) {
        hear(handle);
        handle->alone = false;
    }
    retained_step(st, h, ev);
    if (handle->phase == PHASE_SPAN)
        retained_require(st, retained_has_turn(handle) || handle->dead, RETAINED_IDLES);
}

static void on_looked(struct retained_state *st, uint8_t h, const struct retained_wire *a,
                      bool refused)
{
    const struct retain_event ev = {
        .kind = RETAIN_EV_LOOKED, .others = !refused && a->others, .watched = !refused};

    if (!st->h[h].looking)
        return;
    st->h[h].looking = false;
    if (refused)
        st->h[h].watch = false;
    if (ev.others || refused) {
        on_rival(st, h, ev);
        return;
    }
    st->h[h].alone = !st->h[h].heard;
    retained_step(st, h, ev);
}

void retained_end_told(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];

    retained_lose_turn(handle);
    retained_forget_tenure(handle);
    retained_send(handle, REQUEST_DELETE, false);
    retained_step(st, h, (struct retain_event){.kind = RETAIN_EV_ENDED});
}

static void on_listed(struct retained_state *st, uint8_t h, const struct retained_wire *a)
{
    if (a->absent)
        return;
    if (!a->ahead)
        grant(st, h, a);
    else if (st->h[h].tries)
        retained_fail(st, h, true);
}

static void on_gone(struct retained_state *st, uint8_t h)
{
    if (st->h[h].phase == PHASE_SPAN) {
        retained_end_told(st, h);
        return;
    }
    st->h[h].deleted = false;
    retained_send(&st->h[h], REQUEST_CREATE, false);
}

static void dispatch(struct retained_state *st, uint8_t h, const struct retained_wire *a,
                     bool refused)
{
    struct retained_handle *handle = &st->h[h];

    if (a->generation != handle->generation || handle->phase == PHASE_NONE)
        return;
    if (a->what == ANSWER_CREATED && handle->phase == PHASE_ATTEMPT)
        retained_send(handle, REQUEST_LIST, a->watch);
    else if (a->what == ANSWER_LISTED && handle->phase == PHASE_ATTEMPT)
        on_listed(st, h, a);
    else if (a->what == EVENT_HEAD && handle->phase == PHASE_ATTEMPT)
        grant(st, h, a);
    else if (a->what == ANSWER_LOOKED)
        on_looked(st, h, a, refused);
    else if (a->what == EVENT_CHILD)
        on_rival(st, h, (struct retain_event){.kind = RETAIN_EV_RIVAL});
    else if (a->what == EVENT_GONE)
        on_gone(st, h);
}

bool retained_is_grant(const struct retained_handle *h)
{
    const struct retained_wire *a = &h->answer[0];

    return h->phase == PHASE_ATTEMPT && a->generation == h->generation &&
           (a->what == EVENT_HEAD || (a->what == ANSWER_LISTED && !a->ahead && !a->absent));
}

void retained_deliver(struct retained_state *st, uint8_t h, bool refused)
{
    struct retained_handle *handle = &st->h[h];
    const struct retained_wire a = handle->answer[0];

    flat_remove(handle->answer, &handle->answers, sizeof a, 0);
    dispatch(st, h, &a, refused);
}
