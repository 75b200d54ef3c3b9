#include "watches.h"

static bool is_wanted(const struct client *c, uint8_t node)
{
    return c->own_subscription.node == node || c->predecessor_subscription.node == node;
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

static void unlink_subscription(struct model_subscription *subscription)
{
    *subscription = (struct model_subscription){.node = MODEL_NONE};
}

void watches_add(struct client *c, uint8_t node, struct model_subscription *subscription,
                 uint32_t tag)
{
    c->asked[node]++;
    *subscription = (struct model_subscription){.node = node, .asked = tag};
}

void watches_drop(struct client *c, struct model_subscription *subscription)
{
    uint8_t node = subscription->node;

    if (node == MODEL_NONE)
        return;
    unlink_subscription(subscription);
    watches_settle(c, node);
}

void watches_answered(struct client *c, const struct reply *reply,
                      struct model_subscription *subscription)
{
    bool newest = subscription->asked == reply->tag;

    if (newest)
        subscription->asked = 0;
    c->asked[reply->node]--;
    if (reply->answer == ANSWER_OK) {
        c->armed |= MODEL_BIT(reply->node);
        c->kept |= MODEL_BIT(reply->node);
    } else if (newest) {
        unlink_subscription(subscription);
    }
    watches_settle(c, reply->node);
}

bool watches_fires(struct model_subscription *subscription, uint8_t node)
{
    if (subscription->node != node || subscription->asked) /* the answer will tell */
        return false;
    unlink_subscription(subscription);
    return true;
}

void watches_clear(struct client *c)
{
    unlink_subscription(&c->own_subscription);
    unlink_subscription(&c->predecessor_subscription);
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
