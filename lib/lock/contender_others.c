/* What a holder hears, beside its grant: others who wait, that it is asked to
 * give way, proofs, its end. */
#include "contender_requests.h"
#include "grant.h"

void contender_tell(struct contender *c, enum contender_news news)
{
    contender_news_fn fn = c->head ? c->head->news : NULL;

    if (fn && news == CONTENDER_ENDED)
        c->head->news = NULL;
    if (fn)
        fn(c->context, news);
}

static enum contender_news to_news(enum attempt_others others)
{
    return others == OTHERS_NONE   ? CONTENDER_ALONE
           : others == OTHERS_WAIT ? CONTENDER_OTHERS
                                   : CONTENDER_UNKNOWN;
}

void contender_tell_others(struct contender *c, enum attempt_others others)
{
    c->look_again = others == OTHERS_UNKNOWN;
    if (others == OTHERS_WAIT && c->grant)
        grant_call(c->grant, GRANT_WANTED);
    contender_tell(c, to_news(others));
}

void contender_tell_asked(struct contender *c)
{
    if (c->grant)
        grant_call(c->grant, GRANT_ASKED);
    contender_tell(c, CONTENDER_ASKED);
}

void contender_hear(struct contender *c, contender_news_fn news)
{
    contender_head(c)->news = news;
}

bool contender_has_waited(const struct contender *c)
{
    return c->machine.waited;
}

enum contender_news contender_others(const struct contender *c)
{
    return to_news(c->machine.others);
}

void contender_set_idle(struct contender *c, bool idle)
{
    c->idle = idle;
}

void contender_forget(struct contender *c)
{
    if (c->head)
        c->head->news = NULL;
}
