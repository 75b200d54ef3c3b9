/* A leader's, and a winner's, eye on its rivals: a list of them, and a watch for new ones. */
#include <string.h>

#include "election_bid.h"
#include "lib/lock/grant.h"
#include "lib/session/request.h"
#include "recipes/name.h"

/* Until it is tried again, when rivals could not be watched. */
#define RETRY_NS (1000 * CLOCK_MS)

static int64_t age_of(const struct bid *bid)
{
    return bid->state == BID_LEADING ? clock_now().boot - bid->began : 0;
}

/* ---- looking ---- */

static void see(struct bid *bid, const struct store_reply *reply)
{
    const char *own = strrchr(grant_full_node(bid->grant), '/') + 1;
    struct child child;

    bid->tenure.higher = bid->tenure.others = false;
    for (int i = 0; i < reply->count; i++) {
        const char *name = reply->names[i];
        name_parse(name, strlen(name), &child);
        if (child.kind == bid->election->kind && strcmp(name, own) != 0)
            tenure_see(&bid->tenure, name, strlen(name));
    }
}

static void consider(struct bid *bid);

/* A winner that cannot find out leads: priorities are a courtesy. */
static void checked(struct bid *bid, enum store_rc rc)
{
    if (rc == STORE_GONE || zkl_grant_state(bid->grant) >= ZKL_LOST || bid->tenure.higher)
        bid_pass(bid);
    else
        bid_lead(bid);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct bid *bid = r->owner;

    if (r->what.watch)
        watch_answered(bid->election->session, r, reply, &bid->interest);
    if (r->tag == bid->look) {
        if (reply->rc == STORE_OK)
            see(bid, reply);
        if (bid->state == BID_CHECKING)
            checked(bid, reply->rc);
        else
            consider(bid);
    }
    bid_unref(bid);
}

static void look(struct bid *bid)
{
    zkl_election *e = bid->election;
    struct request *r = request_new(STORE_LIST, g_strdup(e->directory), on_listed, bid);

    r->tag = ++bid->look;
    bid->refs++;
    if (tenure_watches(&bid->tenure, age_of(bid)))
        watch_add(e->session, r, &bid->interest); /* too much watched: tried again later */
    request_send(e->session, r);
}

static void on_fired(void *owner, bool gone)
{
    (void)gone;
    look(owner);
}

/* ---- asking ---- */

static void stop_looking(struct bid *bid)
{
    bid->look++; /* what is under way comes to nothing */
    watch_drop(&bid->interest, false);
    timers_cancel(&bid->timer);
}

static void on_timer(void *data)
{
    struct bid *bid = data;

    if (tenure_watches(&bid->tenure, age_of(bid)) && !bid->interest.watch)
        look(bid);
    consider(bid);
}

static void consider(struct bid *bid)
{
    int64_t age = age_of(bid), next = tenure_next(&bid->tenure, age);

    if (bid->asked || zkl_grant_state(bid->grant) >= ZKL_LOST)
        return;
    if (tenure_is_over(&bid->tenure, age)) {
        bid->asked = true;
        stop_looking(bid);
        bid_tell(bid, ZKL_ELECTION_ASKED, bid->grant, NULL);
        return;
    }
    if (tenure_watches(&bid->tenure, age) && !bid->interest.watch)
        next = MIN(next, age + RETRY_NS);
    if (next != INT64_MAX)
        timers_arm(bid->election->session->timers, &bid->timer, bid->began + next, on_timer, bid);
}

/* ---- a term ---- */

static int64_t to_ns(int64_t ms)
{
    return MIN(ms, INT64_MAX / CLOCK_MS / 4) * CLOCK_MS;
}

void tenure_won(struct bid *bid)
{
    const zkl_election_options *o = &bid->election->options;

    bid->tenure = (struct tenure){.yield = o->yield,
                                  .priority = o->priority,
                                  .least = to_ns(o->min_term_ms),
                                  .most = to_ns(o->max_term_ms)};
    bid->asked = false;
    bid->interest = (struct interest){.fired = on_fired, .owner = bid};
    if (!o->yield) {
        bid_lead(bid);
        return;
    }
    bid->state = BID_CHECKING;
    look(bid);
}

void tenure_begin(struct bid *bid)
{
    bid->began = clock_now().boot;
    on_timer(bid);
}

void tenure_end(struct bid *bid)
{
    stop_looking(bid);
}
