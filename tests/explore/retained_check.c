#include "retained.h"

const char *const retained_broken_texts[RETAINED_BROKEN_COUNT] = {
    [RETAINED_WHOLE] = "nothing",
    [RETAINED_EXCLUSION] = "two valid turns at a time",
    [RETAINED_UNSURE] = "a turn begins in doubt, behind the deadline or behind the delete",
    [RETAINED_TOKEN] = "the pair of token and turn does not rise",
    [RETAINED_GATE] = "more turns before a rival than may be",
    [RETAINED_IDLES] = "idle, though a rival was heard of",
    [RETAINED_DEAF] = "idle, and nothing will say that somebody is there",
    [RETAINED_ORDER] = "asks for what cannot be asked then",
    [RETAINED_PLACE] = "who waits here does not enter before the delete",
    [RETAINED_TRIER] = "who tries waits for others, or somebody else is refused",
    [RETAINED_SPENT] = "goes on with a node that cannot",
    [RETAINED_WATCH] = "watches though the last list showed others, or not, though none",
    [RETAINED_STUCK] = "nothing can happen, but somebody waits",
    [RETAINED_LEFT] = "a node is left that nobody wants",
};

void retained_require(struct retained_state *st, bool holds, enum retained_broken broken)
{
    if (!holds && !st->broken)
        st->broken = (uint8_t)broken;
}

/* ---- in each state ---- */

static bool is_idle(const struct retained_handle *h)
{
    return h->phase == PHASE_SPAN && !retained_has_turn(h) && !h->dead;
}

/* A handle with an idle tenure is told of a contender behind it, or will be; a deaf one is not. */
static bool is_deaf(const struct retained_state *st, uint8_t h)
{
    const struct retained_handle *handle = &st->h[h];

    return is_idle(handle) && handle->requests == 0 && handle->answers == 0 && !handle->watch &&
           retained_find(st, h, handle->generation) == 0;
}

void retained_check(struct retained_state *st)
{
    int valid = st->foreign_holds;

    for (uint8_t i = 0; i < retained_config.handles; i++) {
        const struct retained_handle *h = &st->h[i];
        valid += retained_has_turn(h) && retained_find(st, i, h->generation) >= 0;
        retained_require(st, !is_deaf(st, i), RETAINED_DEAF);
        retained_require(st, !h->closed || !is_idle(h), RETAINED_LEFT);
        retained_require(st, h->waiting == h->machine.waiting, RETAINED_ORDER);
        for (uint8_t k = 1; k < h->waiting; k++)
            retained_require(st, h->caller[h->line[k]] == CALLER_WAITS, RETAINED_TRIER);
    }
    retained_require(st, valid <= 1, RETAINED_EXCLUSION);
}

/* ---- at the end ---- */

int retained_check_end(const void *state)
{
    const struct retained_state *st = state;
    int idle = 0;

    if (st->foreign)
        return RETAINED_STUCK;
    for (uint8_t i = 0; i < retained_config.handles; i++) {
        const struct retained_handle *h = &st->h[i];
        if (h->waiting > 0 || h->phase == PHASE_ATTEMPT)
            return RETAINED_STUCK;
        for (int k = 0; k < RETAINED_CALLERS; k++) {
            if (h->caller[k] != CALLER_OUT)
                return RETAINED_STUCK;
        }
        idle += h->phase == PHASE_SPAN && retained_config.forever;
    }
    return st->nodes > idle || idle > 1 ? RETAINED_LEFT : RETAINED_WHOLE;
}
