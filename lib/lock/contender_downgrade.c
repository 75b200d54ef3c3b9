/* A writer's grant goes on as a reader's: recipes/attempt_downgrade.c decides, this does it. */
#include <string.h>

#include "contender_state.h"
#include "grant.h"
#include "multi.h"
#include "recipes/revoke.h"

static char *shared_node(const struct contender *c)
{
    return contender_node_as(c, CHILD_READ);
}

static void answer(struct request *r, const struct store_reply *reply, enum event_kind kind)
{
    contender_answer(r, reply,
                     &(struct event){.kind = kind, .ephemeral_owner = reply->ephemeral_owner});
}

/* One without an answer may still be done when what stands there by then is deleted. */
static void on_created(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;

    c->unsure += reply->rc == STORE_UNKNOWN;
    answer(r, reply, EV_SHARED_CREATED);
}

static void on_shared_read(struct request *r, const struct store_reply *reply)
{
    answer(r, reply, EV_SHARED_READ);
}

static void on_exclusive_read(struct request *r, const struct store_reply *reply)
{
    contender_answer(
        r, reply,
        &(struct event){.kind = EV_EXCLUSIVE_READ,
                        .ephemeral_owner = reply->ephemeral_owner,
                        .asked = revoke_asks(reply->data, reply->length, reply->version)});
}

/* Sent once: whether it was done is the recipe's to find out. */
static void create(struct contender *c)
{
    struct request *r = contender_request(c, STORE_CREATE, shared_node(c), on_created, 0);

    r->once = true;
    r->what.mode = STORE_EPHEMERAL;
    r->what.data = g_strdup(c->payload);
    r->what.length = (int)strlen(c->payload);
    request_send(c->session, r);
}

/* The grant may have ended meanwhile. A node with an odd name, as somebody gave it who knew our id,
 * gets the name that we would give. */
static void move(void *data)
{
    struct contender *c = data;

    if (c->grant && c->machine.downgrade == DOWNGRADE_MOVING) {
        grant_move(c->grant, shared_node(c));
        contender_step_kind(c, EV_MOVED);
    }
    contender_unref(c);
}

/* What the former node was called, the grant knows. */
static void delete_exclusive(struct contender *c)
{
    g_clear_pointer(&c->odd_name, g_free);
    contender_delete(c, g_strdup(grant_former_node(c->grant)));
}

void contender_ask_shared(struct contender *c, const struct action *a)
{
    switch (a->kind) {
    case ACT_CREATE_SHARED:
        create(c);
        break;
    case ACT_READ_SHARED:
        request_send(c->session,
                     contender_request(c, STORE_GET, shared_node(c), on_shared_read, 0));
        break;
    case ACT_READ_EXCLUSIVE:
        request_send(c->session,
                     contender_request(c, STORE_GET, contender_node(c), on_exclusive_read, 0));
        break;
    case ACT_MOVE:
        c->refs++;
        multi_when_idle(c->grant, move, c);
        break;
    case ACT_DELETE_SHARED:
        request_delete(c->session, shared_node(c));
        break;
    case ACT_DELETE_EXCLUSIVE:
        delete_exclusive(c);
        break;
    default:
        g_assert_not_reached();
    }
}
