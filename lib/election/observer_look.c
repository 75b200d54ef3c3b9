/* An observer's look, where look.h has its beginning:
 *
 *   list ──> read the first, with a watch, and what is proclaimed ──> tell
 *    │ └─ it left ──> list
 *    ├─ empty ──> list with a watch, still empty ──> tell "nobody"
 *    └─ no such path, watched ──> tell "nobody"
 *
 * A watch that fires begins the next look. */
#include "lib/queue/queue.h"
#include "observer.h"

/* ---- the first in line ---- */

static void conclude(struct observer *o)
{
    if (!o->seen || !o->data_known)
        return;
    look_found(&o->look, 0);
    observer_tell(o, o->token);
}

static void on_first_read(struct request *r, const struct store_reply *reply)
{
    struct observer *o = r->owner;

    if (look_answered(&o->look, r, reply, &o->node_interest, look_number(&o->look))) {
        if (reply->rc == STORE_OK) {
            o->seen = true;
            o->token = reply->czxid;
            g_free(o->id);
            o->id = g_utf8_make_valid(reply->data ? reply->data : "",
                                      queue_payload_length(o->node, reply));
            conclude(o);
        } else if (reply->rc == STORE_NONODE) {
            look_again(&o->look, false);
        } else {
            look_refused(&o->look, reply->rc);
        }
    }
    look_unref(&o->look);
}

static void take_data(struct observer *o, const struct store_reply *reply)
{
    const char *data = reply->data ? reply->data : "";
    size_t length = (size_t)reply->length, at;

    g_clear_pointer(&o->proclaimed, g_bytes_unref);
    o->data_token = 0;
    if (reply->rc == STORE_OK && observe_data(data, length, &o->data_token, &at))
        o->proclaimed = g_bytes_new(data + at, length - at);
    o->data_known = true;
}

static void on_data_read(struct request *r, const struct store_reply *reply)
{
    struct observer *o = r->owner;

    if (look_answered(&o->look, r, reply, &o->data_interest, o->data_look)) {
        o->data_asked = false;
        if (reply->rc == STORE_OK || reply->rc == STORE_NONODE) {
            take_data(o, reply);
            conclude(o);
        } else {
            look_refused(&o->look, reply->rc);
        }
    }
    look_unref(&o->look);
}

static void ask_data(struct observer *o)
{
    o->data_known = false;
    o->data_asked = true;
    o->data_look++;
    look_ask(&o->look, STORE_GET, g_strdup(o->look.directory), on_data_read, &o->data_interest,
             o->data_look);
}

static void ask_first(struct observer *o)
{
    o->seen = false;
    look_ask(&o->look, STORE_GET, g_strconcat(o->look.directory, "/", o->node, NULL), on_first_read,
             &o->node_interest, look_number(&o->look));
}

/* ---- nobody ---- */

static void on_nobody(struct look *l)
{
    struct observer *o = (struct observer *)l;

    watch_drop(&o->node_interest, false);
    look_found(l, 0);
    observer_tell(o, 0);
}

/* ---- lists ---- */

static void found(struct observer *o, const char *first)
{
    watch_drop(&o->look.children, false);
    g_free(o->node);
    o->node = g_strdup(first);
    ask_first(o);
    if ((!o->data_known && !o->data_asked) || !o->data_interest.watch)
        ask_data(o);
}

static void on_listed(struct look *l, const struct store_reply *reply, bool watched)
{
    struct observer *o = (struct observer *)l;
    const char *first = queue_first(reply->names, reply->count, o->kind);

    if (first)
        found(o, first);
    else if (watched)
        on_nobody(l);
    else
        look_again(l, true);
}

/* ---- what the watches say ---- */

static void on_node_fired(void *owner, bool gone)
{
    struct observer *o = owner;

    if (gone) {
        look_fired(&o->look);
    } else {
        look_reread(&o->look);
        ask_first(o); /* still the first: proclaiming changes its version */
    }
}

static void on_data_fired(void *owner, bool gone)
{
    struct observer *o = owner;

    o->data_known = false;
    if (!gone) /* with the directory the first one went, and the next look asks for both */
        ask_data(o);
}

static void on_begin(struct look *l)
{
    struct observer *o = (struct observer *)l;

    o->seen = false;
}

static void on_up(struct look *l)
{
    struct observer *o = (struct observer *)l;

    o->data_known = o->data_asked = false;
}

static void on_stop(struct look *l)
{
    struct observer *o = (struct observer *)l;

    o->data_look++;
    watch_drop(&o->node_interest, false);
    watch_drop(&o->data_interest, false);
}

void observer_listen(struct observer *o)
{
    o->node_interest = (struct interest){.fired = on_node_fired, .owner = o};
    o->data_interest = (struct interest){.fired = on_data_fired, .owner = o};
}

const struct look_kind observer_kind = {.doing = "looking for the leader",
                                        .up = on_up,
                                        .begin = on_begin,
                                        .listed = on_listed,
                                        .missing = on_nobody,
                                        .stop = on_stop,
                                        .free = observer_free};
