#include "watches.h"

uint8_t *watches_wanted(struct client *c, unsigned about)
{
    return about == ATTEMPT_OWN           ? &c->own_watch
           : about == ATTEMPT_PREDECESSOR ? &c->predecessor_watch
                                          : NULL;
}

int watches_asked(const struct client *c, uint8_t node)
{
    int count = 0;

    for (int k = 0; k < c->replies_count; k++)
        count += c->replies[k].to.node == node &&
                 (c->replies[k].to.watch || c->replies[k].to.verb == STORE_UNWATCH);
    for (int k = 0; k < c->asks_count; k++)
        count += c->asks[k].node == node && (c->asks[k].watch || c->asks[k].verb == STORE_UNWATCH);
    return count;
}

/* A request for the subscription is under way, behind the one that was answered or has fired. */
static bool watches_asks_anew(const struct client *c, unsigned about)
{
    for (int k = 0; k < c->replies_count; k++)
        if (c->replies[k].to.watch && c->replies[k].to.about == about)
            return true;
    for (int k = 0; k < c->asks_count; k++)
        if (c->asks[k].watch && c->asks[k].about == about)
            return true;
    return false;
}

void watches_settle(struct client *c, uint8_t node)
{
    if (!(c->armed & MODEL_BIT(node)) || c->own_watch == node || c->predecessor_watch == node ||
        watches_asked(c, node) > 0)
        return;
    c->armed &= (uint16_t)~MODEL_BIT(node);
    model_push_ask(c, (struct ask){.verb = STORE_UNWATCH, .node = node, .once = true});
}

void watches_add(struct client *c, const struct ask *ask)
{
    uint8_t *wanted = watches_wanted(c, ask->about);

    if (*wanted != ask->node)
        watches_drop(c, ask->about, false);
    *wanted = ask->node;
}

void watches_drop(struct client *c, unsigned about, bool deleting)
{
    uint8_t *wanted = watches_wanted(c, about), node = *wanted;

    *wanted = MODEL_NONE;
    if (node != MODEL_NONE && !deleting)
        watches_settle(c, node);
}

void watches_answered(struct client *c, const struct ask *ask, enum store_rc rc)
{
    if (rc == STORE_OK) {
        c->armed |= MODEL_BIT(ask->node);
        c->kept |= MODEL_BIT(ask->node);
    } else if (!watches_asks_anew(c, ask->about)) {
        *watches_wanted(c, ask->about) = MODEL_NONE;
    }
    watches_settle(c, ask->node);
}

bool watches_fires(struct client *c, unsigned about, uint8_t node)
{
    uint8_t *wanted = watches_wanted(c, about);

    if (*wanted != node || watches_asks_anew(c, about)) /* the answer will tell */
        return false;
    *wanted = MODEL_NONE;
    return true;
}

void watches_removed(struct client *c, uint8_t node, enum store_rc rc)
{
    if (rc == STORE_UNKNOWN)
        c->armed |= MODEL_BIT(node);
    else
        c->kept &= (uint16_t)~MODEL_BIT(node);
    watches_settle(c, node);
}
