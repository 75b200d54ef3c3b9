#include "claim.h"

static void claim_drop(struct claim *c)
{
    c->holder = NULL;
    g_clear_pointer(&c->tenure, tenure_unref);
}

/* Tells of the end of the hold. If .until_gone, the node is gone, too. */
static void claim_on_gone(void *context, enum contender_news news)
{
    struct claim *c = context;

    claim_drop(c);
    if (c->news)
        c->news(c->context, news);
}

static void claim_on_news(void *context, enum contender_news news)
{
    struct claim *c = context;

    if (news == CONTENDER_ENDED && c->until_gone) {
        contender_set_news(c->holder, claim_on_gone);
        contender_release(c->holder);
    } else if (news == CONTENDER_ENDED) {
        claim_on_gone(c, news);
    } else if (c->news) {
        c->news(c->context, news);
    }
}

static void claim_on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct claim *c = context;

    c->contender = NULL;
    /* A claim may enter its next contender before it lets go of what it holds. */
    if (tenure) {
        c->tenure = tenure;
        c->holder = contender_of(tenure);
    }
    c->decided(c->context, error);
}

void claim_enter(struct claim *c, zkl_session *s, const struct contender_spec *spec,
                 claim_decided decided, void *context)
{
    struct contender_spec heard = *spec;

    c->decided = decided;
    c->news = spec->news;
    c->context = context;
    heard.news = claim_on_news;
    contender_enter(&c->contender, s, &heard, claim_on_decided, c);
}

void claim_forget(struct claim *c)
{
    if (c->holder)
        contender_forget(c->holder);
    claim_drop(c);
}

struct tenure *claim_take(struct claim *c)
{
    struct tenure *tenure = g_steal_pointer(&c->tenure);

    claim_forget(c);
    return tenure;
}

void claim_abandon(struct claim *c)
{
    struct contender *contender = g_steal_pointer(&c->contender);

    if (contender)
        contender_abandon(contender);
}

void claim_release(struct claim *c)
{
    struct contender *holder = c->holder;

    claim_forget(c);
    if (holder)
        contender_release(holder);
}

void claim_leave(struct claim *c)
{
    claim_abandon(c);
    claim_release(c);
}
