/* The own node of a member of a double barrier: made, found again, deleted. */
#include <string.h>

#include "double_requests.h"
#include "lib/base/layout.h"
#include "lib/session/late_create.h"
#include "lib/session/parents.h"

static void ask_create(zkl_double_barrier *b, uint32_t tag);

static void on_own_read(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc == STORE_OK)
        double_step(b, (struct barrier_event){
                           .kind = BARRIER_EV_JOINED, .tag = r->tag, .zxid = reply->czxid});
    else if (reply->rc == STORE_NONODE && double_is_present(b, r))
        ask_create(b, r->tag);
    else if (reply->rc != STORE_GONE)
        double_refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

struct parents_wish {
    zkl_double_barrier *barrier;
    uint32_t tag;
};

static void on_parents(void *context, enum store_rc rc)
{
    struct parents_wish *wish = context;
    zkl_double_barrier *b = wish->barrier;

    if (rc == STORE_OK && wish->tag == b->machine.tag)
        ask_create(b, wish->tag);
    else if (rc != STORE_GONE)
        double_refuse(b, wish->tag, call_error(rc));
    double_unref(b);
    g_free(wish);
}

static void ask_parents(zkl_double_barrier *b, uint32_t tag)
{
    struct parents_wish *wish = g_new(struct parents_wish, 1);

    *wish = (struct parents_wish){b, tag};
    double_ref(b);
    parents_make(b->spec.session, b->node, b->spec.parents, on_parents, wish);
}

/* One that was sent twice finds what it made itself: nobody else has that name. */
static void on_created(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    /* When its session ends: may there have been a node? */
    b->sent = reply->rc == STORE_EXISTS || (reply->rc == STORE_GONE && r->sent.boot != 0);
    b->late |= r->repeated;
    if (reply->rc == STORE_OK)
        double_step(b, (struct barrier_event){
                           .kind = BARRIER_EV_JOINED, .tag = r->tag, .zxid = reply->czxid});
    else if (reply->rc == STORE_EXISTS && double_is_present(b, r))
        request_send(b->spec.session, double_request(b, STORE_STAT, b->node, on_own_read, r->tag));
    else if (reply->rc == STORE_NONODE && double_is_present(b, r))
        ask_parents(b, r->tag);
    else if (reply->rc != STORE_GONE)
        double_refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

static void ask_create(zkl_double_barrier *b, uint32_t tag)
{
    struct request *r = double_request(b, STORE_CREATE, b->node, on_created, tag);

    r->what.mode = STORE_EPHEMERAL;
    r->what.data = g_strdup(b->spec.name);
    r->what.length = (int)strlen(b->spec.name);
    request_send(b->spec.session, r);
}

/* One would count as a member, and nobody would ever delete it. */
void double_look_for_late(zkl_double_barrier *b)
{
    if (b->late)
        late_create_look(b->spec.session, b->spec.path, b->own_name, NULL);
    b->late = false;
}

void double_ask_join(zkl_double_barrier *b, uint32_t tag)
{
    double_look_for_late(b);
    g_free(b->own_name);
    b->own_name = layout_new_id(CHILD_FOREIGN, false);
    g_free(b->node);
    b->node = g_strconcat(b->spec.path, "/", b->own_name, NULL);
    ask_create(b, tag);
}

static void on_quit(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE)
        request_delete(b->spec.session, g_strdup(b->node)); /* logged, and tried again and again */
    if (reply->rc != STORE_GONE) {
        double_look_for_late(b);
        double_answer(b, r->tag, BARRIER_EV_QUIT);
    }
    double_unref(b);
}

static void ask_delete(zkl_double_barrier *b, uint32_t tag)
{
    request_send(b->spec.session, double_request(b, STORE_DELETE, b->node, on_quit, tag));
}

/* Refused as a whole, where another has removed ready: then the own node alone. */
static void on_quit_last(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc == STORE_OK)
        double_answer(b, r->tag, BARRIER_EV_QUIT);
    else if (reply->rc != STORE_GONE && double_is_present(b, r))
        ask_delete(b, r->tag);
    double_unref(b);
}

void double_ask_quit(zkl_double_barrier *b, const struct barrier_action *a)
{
    if (!a->last) {
        ask_delete(b, a->tag);
        return;
    }
    b->changes[0] =
        (struct store_change){.kind = STORE_DELETE, .path = b->node, .length = -1, .version = -1};
    b->changes[1] =
        (struct store_change){.kind = STORE_DELETE, .path = b->ready, .length = -1, .version = -1};
    request_send(b->spec.session, double_transaction(b, on_quit_last, a->tag));
}
