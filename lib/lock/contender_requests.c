/* What an attempt does with its own node, and with the one that it waits for. */
#include "contender_state.h"

#include <limits.h>
#include <string.h>

#include "recipes/name.h"
#include "recipes/revoke.h"

void contender_answer(struct request *r, const struct store_reply *reply, struct event *ev)
{
    struct contender *c = r->context;

    ev->answer = contender_to_answer(reply->rc);
    ev->tag = r->tag;
    if (reply->rc != STORE_GONE)
        contender_step(c, ev);
    contender_unref(c);
}

/* ---- create ---- */

static void on_created(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;
    struct event ev = {
        .kind = EV_CREATED, .czxid = reply->czxid, .ephemeral_owner = reply->ephemeral_owner};

    c->create = NULL;
    c->unsure += reply->rc == STORE_UNKNOWN;
    if (reply->rc == STORE_OK) {
        const char *name = strrchr(reply->path, '/') + 1;
        struct child child;
        name_parse(name, strlen(name), &child);
        ev.number = child.number;
        contender_set_node(c, name, child.number);
    }
    contender_answer(r, reply, &ev);
}

static void ask_create(struct contender *c, uint32_t tag)
{
    struct request *r = contender_request(c, STORE_CREATE, contender_new_node(c), on_created, tag);

    r->once = true; /* whether it was done is the recipe's to find out */
    r->what.mode = STORE_EPHEMERAL_SEQUENTIAL;
    r->what.data = g_strdup(c->payload);
    r->what.length = (int)strlen(c->payload);
    c->blame = 0; /* that parents could not be made is no matter any more */
    c->create = r;
    request_send(c->session, r);
}

/* ---- reads ---- */

/* Whatever the answer is, a quorum has it; the session's client takes it along to other servers,
 * and none that has not come as far lets it in. So no list behind it comes from before. */
static void on_passed(struct request *r, const struct store_reply *reply)
{
    const struct store_reply definite = {.rc = reply->rc < STORE_BAD ? STORE_OK : reply->rc};

    contender_answer(r, &definite, &(struct event){.kind = EV_PASSED});
}

/* A set of what is not there: no node is called like that, without a number. Unlike a sync, it is
 * not answered by a deposed leader. */
static void ask_barrier(struct contender *c, uint32_t tag)
{
    struct request *r = contender_request(c, STORE_SET, contender_new_node(c), on_passed, tag);

    r->what.version = INT_MAX;
    request_send(c->session, r);
}

void contender_recall(struct contender *c)
{
    if (c->create)
        request_recall(c->create);
    /* While a node may stand that nobody knows, the list is what will find it. */
    if (c->list && c->machine.state == ST_DONE)
        request_recall(c->list);
}

static void on_proved(struct request *r, const struct store_reply *reply)
{
    contender_answer(
        r, reply,
        &(struct event){.kind = EV_READ,
                        .czxid = reply->czxid,
                        .ephemeral_owner = reply->ephemeral_owner,
                        .asked = revoke_asks(reply->data, reply->length, reply->version)});
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;

    watch_answered(c->session, r, reply, &c->head->own_subscription);
    on_proved(r, reply);
}

static void on_watched(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;

    watch_answered(c->session, r, reply, &c->predecessor_subscription);
    contender_answer(r, reply,
                     &(struct event){.kind = EV_WATCHED,
                                     .ephemeral_owner = reply->ephemeral_owner,
                                     .czxid = reply->czxid,
                                     .version = reply->version});
}

bool contender_leave_watch(struct contender *c, struct request *r,
                           struct subscription *subscription, enum event_kind kind)
{
    uint32_t tag = r->tag;

    if (watch_add(c->session, r, subscription))
        return true;
    request_free(r);
    contender_step(c, &(struct event){.kind = kind, .answer = ANSWER_LIMIT, .tag = tag});
    contender_unref(c);
    return false;
}

static void ask_own(struct contender *c, uint32_t tag)
{
    struct request *r = contender_request(c, STORE_GET, contender_node(c), on_read, tag);

    if (contender_leave_watch(c, r, &contender_head(c)->own_subscription, EV_READ))
        request_send(c->session, r);
}

/* Takes path. What is kept of it is the watch's own. */
static void ask_predecessor(struct contender *c, char *path, uint32_t tag)
{
    struct request *r = contender_request(c, STORE_GET, path, on_watched, tag);

    if (!contender_leave_watch(c, r, &c->predecessor_subscription, EV_WATCHED))
        return;
    g_clear_pointer(&c->predecessor, g_rc_box_release);
    c->predecessor = g_rc_box_acquire(watch_path(&c->predecessor_subscription));
    request_send(c->session, r);
}

/* ---- all of them ---- */

static void delete_own(struct contender *c)
{
    if (c->head)
        watch_drop(&c->head->own_subscription, true);
    request_delete(c->session, contender_node(c));
}

static void prove(struct contender *c, uint32_t tag)
{
    request_send(c->session, contender_request(c, STORE_GET, contender_node(c), on_proved, tag));
}

void contender_ask_node(struct contender *c, const struct action *a)
{
    switch (a->kind) {
    case ACT_CREATE:
        ask_create(c, a->tag);
        break;
    case ACT_BARRIER:
        ask_barrier(c, a->tag);
        break;
    case ACT_ADOPT:
        c->unsure -= c->unsure > 0;
        contender_set_node(c, c->listed->names[a->id], c->machine.number);
        break;
    case ACT_PROVE:
        prove(c, a->tag);
        break;
    case ACT_READ:
        ask_own(c, a->tag);
        break;
    case ACT_WATCH:
        ask_predecessor(c, contender_child_path(c, c->listed->names[a->id]), a->tag);
        break;
    case ACT_REWATCH:
        ask_predecessor(c, g_strdup(c->predecessor), a->tag);
        break;
    case ACT_UNWATCH:
        watch_drop(&c->predecessor_subscription, false);
        break;
    case ACT_DELETE:
        delete_own(c);
        break;
    default:
        g_assert_not_reached();
    }
}
