#include "watches.h"

static bool is_wanted(const struct client *c, uint8_t node)
{
    return c->own_interest.node == node || c->predecessor_interest.node == node;
}

/* settle() */
void watches_settle(struct client *c, uint8_t node)
{
    if (c->asked[node] || is_wanted(c, node) || !(c->armed & MODEL_BIT(node)))
        return;
    c->armed &= (uint16_t)~MODEL_BIT(node);
    c->asked[node]++;
    model_push_ask(c, ASK_UNWATCH, node, 0);
}

static void unlink_interest(struct interest *interest)
{
    *interest = (struct interest){.node = MODEL_NONE};
}

void watches_add(struct client *c, uint8_t node, struct interest *interest, uint32_t tag)
{
    c->asked[node]++;
    if (interest->node != node) {
        watches_drop(c, interest, false);
        interest->node = node;
    }
    interest->asked = tag;
}

void watches_drop(struct client *c, struct interest *interest, bool deleting)
{
    uint8_t node = interest->node;

    if (node == MODEL_NONE)
        return;
    unlink_interest(interest);
    if (!deleting || !(c->armed & MODEL_BIT(node)))
        watches_settle(c, node);
}

void watches_answered(struct client *c, const struct reply *reply, struct interest *interest)
{
    bool newest = interest->asked == reply->tag;

    if (newest)
        interest->asked = 0;
    c->asked[reply->node]--;
    if (reply->answer == ANSWER_OK) {
        c->armed |= MODEL_BIT(reply->node);
        c->kept |= MODEL_BIT(reply->node);
    } else if (newest) {
        unlink_interest(interest);
    }
    watches_settle(c, reply->node);
}

bool watches_fires(struct interest *interest, uint8_t node)
{
    if (interest->node != node || interest->asked)
        return false;
    unlink_interest(interest);
    return true;
}

void watches_clear(struct client *c)
{
    unlink_interest(&c->own_interest);
    unlink_interest(&c->predecessor_interest);
}

/* on_removed() */
void watches_removed(struct client *c, uint8_t node, enum answer answer)
{
    c->asked[node]--;
    if (answer == ANSWER_UNKNOWN)
        c->armed |= MODEL_BIT(node);
    else
        c->kept &= (uint16_t)~MODEL_BIT(node);
    watches_settle(c, node);
}
