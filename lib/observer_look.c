/* An observer's look:
 *
 *   sync? ──> list ──> read the first, with a watch, and what is proclaimed ──> tell
 *              │ └─ it left ──> list
 *              ├─ empty ──> list with a watch, still empty ──> tell "nobody"
 *              └─ no such path ──> look whether it exists, with a watch ──> tell "nobody"
 *
 * A watch that fires begins the next look. */
#include "error.h"
#include "log.h"
#include "observer.h"
#include "queue.h"
#include "request.h"

typedef void (*done_fn)(struct request *r, const struct store_reply *reply);

/* ---- failures ---- */

static void on_pause_over(void *data)
{
    observer_look(data, true);
}

static void failed(zkl_observer *o, int code)
{
    zkl_session *s = o->session;

    if (code != o->failure)
        log_line(s->log, ZKL_LOG_WARN, "%s: looking who leads: %s", o->directory,
                 zkl_strerror(code));
    o->failure = code;
    o->look++;
    timers_arm_again(s->timers, &o->timer, &o->pause_ms, on_pause_over, o);
}

static void refused(zkl_observer *o, enum store_rc rc)
{
    if (rc != STORE_GONE) /* the next session's connection begins a look */
        failed(o, rc == STORE_NOAUTH ? ZKL_EACCES : ZKL_EPROTO);
}

static void done(zkl_observer *o)
{
    o->failure = 0;
    o->pause_ms = 0;
}

/* ---- asking ---- */

static void ask(zkl_observer *o, enum store_kind kind, char *path, done_fn fn,
                struct interest *interest)
{
    struct request *r = request_new(kind, path, fn, o);

    r->tag = interest == &o->data_interest ? o->data_look : o->look;
    if (interest && !watch_add(o->session, r, interest)) {
        request_free(r);
        failed(o, ZKL_ELIMIT);
        return;
    }
    o->refs++;
    request_send(o->session, r);
}

/* An answer's first and last step. */
static bool is_fresh(struct request *r, const struct store_reply *reply, struct interest *interest,
                     uint32_t look)
{
    zkl_observer *o = r->owner;

    if (interest)
        watch_answered(o->session, r, reply, interest);
    return r->tag == look && !o->stopped;
}

static void ask_list(zkl_observer *o, bool watch);
static void ask_first(zkl_observer *o);

/* ---- the first in line ---- */

static void conclude(zkl_observer *o)
{
    if (!o->seen || !o->data_known)
        return;
    done(o);
    observer_tell(o, o->token);
}

static void on_first_read(struct request *r, const struct store_reply *reply)
{
    zkl_observer *o = r->owner;

    if (is_fresh(r, reply, &o->node_interest, o->look)) {
        if (reply->rc == STORE_OK) {
            o->seen = true;
            o->token = reply->czxid;
            g_free(o->id);
            o->id = g_utf8_make_valid(reply->data ? reply->data : "", reply->length);
            conclude(o);
        } else if (reply->rc == STORE_NONODE) {
            ask_list(o, false);
        } else {
            refused(o, reply->rc);
        }
    }
    observer_unref(o);
}

static void take_data(zkl_observer *o, const struct store_reply *reply)
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
    zkl_observer *o = r->owner;

    if (is_fresh(r, reply, &o->data_interest, o->data_look)) {
        o->data_asked = false;
        if (reply->rc == STORE_OK || reply->rc == STORE_NONODE) {
            take_data(o, reply);
            conclude(o);
        } else {
            refused(o, reply->rc);
        }
    }
    observer_unref(o);
}

static void ask_data(zkl_observer *o)
{
    o->data_known = false;
    o->data_asked = true;
    o->data_look++;
    ask(o, STORE_GET, g_strdup(o->directory), on_data_read, &o->data_interest);
}

static void ask_first(zkl_observer *o)
{
    o->seen = false;
    ask(o, STORE_GET, g_strconcat(o->directory, "/", o->node, NULL), on_first_read,
        &o->node_interest);
}

/* ---- nobody ---- */

static void tell_nobody(zkl_observer *o)
{
    watch_drop(&o->node_interest, false);
    done(o);
    observer_tell(o, 0);
}

static void on_directory_looked(struct request *r, const struct store_reply *reply)
{
    zkl_observer *o = r->owner;

    if (is_fresh(r, reply, &o->directory_interest, o->look)) {
        if (reply->rc == STORE_NONODE)
            tell_nobody(o);
        else if (reply->rc == STORE_OK)
            ask_list(o, false);
        else
            refused(o, reply->rc);
    }
    observer_unref(o);
}

/* ---- lists ---- */

static void found(zkl_observer *o, const char *first)
{
    watch_drop(&o->directory_interest, false);
    g_free(o->node);
    o->node = g_strdup(first);
    ask_first(o);
    if ((!o->data_known && !o->data_asked) || !o->data_interest.watch)
        ask_data(o);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    zkl_observer *o = r->owner;
    struct interest *interest = r->what.watch ? &o->directory_interest : NULL;
    const char *first = queue_first(reply->names, reply->count, o->kind);

    if (is_fresh(r, reply, interest, o->look)) {
        if (reply->rc == STORE_NONODE)
            ask(o, STORE_STAT, g_strdup(o->directory), on_directory_looked, &o->directory_interest);
        else if (reply->rc != STORE_OK)
            refused(o, reply->rc);
        else if (first)
            found(o, first);
        else if (interest)
            tell_nobody(o);
        else
            ask_list(o, true);
    }
    observer_unref(o);
}

static void ask_list(zkl_observer *o, bool watch)
{
    ask(o, STORE_LIST, g_strdup(o->directory), on_listed, watch ? &o->directory_interest : NULL);
}

static void on_synced(struct request *r, const struct store_reply *reply)
{
    zkl_observer *o = r->owner;

    if (is_fresh(r, reply, NULL, o->look)) {
        if (reply->rc == STORE_OK)
            ask_list(o, false);
        else
            refused(o, reply->rc);
    }
    observer_unref(o);
}

void observer_look(zkl_observer *o, bool sync)
{
    o->look++;
    o->seen = false;
    timers_cancel(&o->timer);
    if (!o->session->up)
        return; /* the connection begins one */
    if (sync)
        ask(o, STORE_SYNC, g_strdup(o->directory), on_synced, NULL);
    else
        ask_list(o, false);
}

/* ---- what the watches say ---- */

static void on_node_fired(void *owner, bool gone)
{
    zkl_observer *o = owner;

    o->look++;
    if (gone)
        observer_look(o, false);
    else
        ask_first(o); /* still the first: proclaiming changes its version */
}

static void on_directory_fired(void *owner, bool gone)
{
    (void)gone;
    observer_look(owner, false);
}

static void on_data_fired(void *owner, bool gone)
{
    zkl_observer *o = owner;

    o->data_known = false;
    if (!gone) /* with the directory the first one went, and the next look asks for both */
        ask_data(o);
}

void observer_listen(zkl_observer *o)
{
    o->node_interest = (struct interest){.fired = on_node_fired, .owner = o};
    o->directory_interest = (struct interest){.fired = on_directory_fired, .owner = o};
    o->data_interest = (struct interest){.fired = on_data_fired, .owner = o};
}
