/* What a member of a double barrier asks of the server: whether it is open, and to open it. */
#include <string.h>

#include "double_requests.h"

static void looked(zkl_double_barrier *b, const struct request *r, const struct store_reply *reply)
{
    struct barrier_event ev = {.kind = BARRIER_EV_LOOKED, .tag = r->tag, .version = b->version};

    if (reply->rc == STORE_OK) {
        ev.zxid = reply->mzxid;
        ev.bound = barrier_bound_read(reply->data, (size_t)MAX(reply->length, 0));
    }
    double_step(b, ev);
}

static void on_ready_read(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc == STORE_OK || reply->rc == STORE_NONODE)
        looked(b, r, reply);
    else if (reply->rc != STORE_GONE)
        double_refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

static void on_ready(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    watch_answered(b->spec.session, r, reply, &b->ready_watch);
    if (reply->rc == STORE_NONODE)
        looked(b, r, reply);
    else if (reply->rc == STORE_OK && double_is_present(b, r))
        request_send(b->spec.session,
                     double_request(b, STORE_GET, b->ready, on_ready_read, r->tag));
    else if (reply->rc != STORE_GONE)
        double_refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

/* Read before ready is: its version changes with each opening. When it is gone, the own node is not
 * listed either. */
static void on_directory(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (double_is_present(b, r) && reply->rc == STORE_OK) {
        b->version = reply->version;
        b->length = reply->length;
        g_free(b->data);
        b->data = g_memdup2(reply->data, (gsize)MAX(reply->length, 0));
    } else if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE) {
        double_refuse(b, r->tag, call_error(reply->rc));
    }
    double_unref(b);
}

/* Where the first is refused at once it is over, and a watch would outlive it. */
static void ask_look(zkl_double_barrier *b, uint32_t tag)
{
    request_send(b->spec.session, double_request(b, STORE_GET, b->spec.path, on_directory, tag));
    if (tag == b->machine.tag)
        double_send_watching(b, double_request(b, STORE_STAT, b->ready, on_ready, tag),
                             &b->ready_watch);
}

static void on_opened(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc == STORE_OK)
        double_answer(b, r->tag, BARRIER_EV_OPENED);
    else if (reply->rc == STORE_BADVERSION || reply->rc == STORE_EXISTS ||
             reply->rc == STORE_NONODE)
        double_answer(b, r->tag, BARRIER_EV_OVERTAKEN);
    else if (reply->rc != STORE_GONE)
        double_refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

/* One that was sent twice is overtaken by itself. */
static void ask_open(zkl_double_barrier *b, const struct barrier_action *a)
{
    g_free(b->text);
    b->text = g_strdup_printf(BARRIER_WORDS "%" G_GUINT64_FORMAT, a->bound);
    b->changes[0] = (struct store_change){.kind = STORE_SET,
                                          .path = b->spec.path,
                                          .data = b->data,
                                          .length = b->length,
                                          .version = a->version};
    b->changes[1] = (struct store_change){.kind = a->replace ? STORE_SET : STORE_CREATE,
                                          .path = b->ready,
                                          .data = b->text,
                                          .length = (int)strlen(b->text),
                                          .version = -1};
    request_send(b->spec.session, double_transaction(b, on_opened, a->tag));
}

/* ---- watches ---- */

static void on_ready_fired(void *context, bool gone)
{
    (void)gone;
    double_step(context, (struct barrier_event){.kind = BARRIER_EV_FIRED});
}

static void on_member_fired(void *context, bool gone)
{
    zkl_double_barrier *b = context;

    if (gone)
        double_answer(b, b->machine.tag, BARRIER_EV_GONE);
    else
        double_ask_member(b, b->machine.tag);
}

void double_ignore(zkl_double_barrier *b)
{
    watch_drop(&b->ready_watch, false);
    watch_drop(&b->member_watch, false);
}

void double_ask(zkl_double_barrier *b, const struct barrier_action *a)
{
    b->ready_watch.fired = on_ready_fired;
    b->member_watch.fired = on_member_fired;
    b->ready_watch.context = b->member_watch.context = b;
    switch (a->kind) {
    case BARRIER_ACT_JOIN:
        double_ask_join(b, a->tag);
        break;
    case BARRIER_ACT_LOOK:
        watch_drop(&b->member_watch, false);
        ask_look(b, a->tag);
        break;
    case BARRIER_ACT_COUNT:
        double_ask_list(b, a->tag);
        break;
    case BARRIER_ACT_READ:
        double_read(b, a->tag, a->member);
        break;
    case BARRIER_ACT_OPEN:
        ask_open(b, a);
        break;
    case BARRIER_ACT_QUIT:
        double_ask_quit(b, a);
        break;
    default:
        b->awaited = a->member;
        double_ask_member(b, a->tag);
        break;
    }
}
