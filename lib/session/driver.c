/* All functions but driver_init() are called with the monitor held. recipes/machine.h has the words
 * of actions and events. In a step the machine gets an event, and then the driver does what the
 * machine asks for. An event that comes during a step waits for the end of that step. */
#include "driver.h"

#include <string.h>

#include "lib/base/path.h"
#include "orphans.h"
#include "request.h"
#include "watch.h"

/* A note is a SET whose answer no machine needs (MACHINE_ACT_NOTE). After a path has refused one,
 * no note is sent there for this time, in ns. */
#define NOTE_REFUSED_NS (60000 * CLOCK_MS)

/* The limits of ephemeral nodes of one session, in bytes. The end of a session is one transaction,
 * which names all of them. If a transaction has 2 MiB, a server cannot read it again, and never
 * starts any more. OWNED_EACH: the digits of the sequence number, and the length. A node counts
 * until its machine has ended, or says that it has none; its delete is sent before any create that
 * follows. */
enum { OWNED_MAX = 1024 * 1024, OWNED_EACH = 14 };

/* A request under way, until its answer has been told or dropped. */
struct driver_asked {
    struct driver *driver;
    struct driver_asked *next, *before; /* a list; .before of the oldest is the newest */
    struct machine_action action;
    struct exchange_request number;
    struct request *request; /* NULL: its parents are being made, or it is answered */
    int64_t late_until; /* CLOCK_BOOTTIME, ns: as in struct machine_event, for all sendings of this
                           change */
    union {
        struct store_change *changes; /* MULTI: paths and data of the first .action.count are ours,
                                         all others are lent by driver_ops.rest() */
        struct {
            unsigned parents;         /* CREATE: how many are being made */
            enum store_rc parents_rc; /* why the first of those that failed could not be made */
        };
    };
};

/* An event that has come during a step. */
struct coming {
    struct machine_event event;
    struct driver_asked *asked; /* the request that it answers; NULL: it is no answer */
    char *data;
    GPtrArray *names; /* NULL: none */
};

struct driver_stepping {
    GQueue coming;                     /* of struct coming: events since the step began */
    const struct machine_event *event; /* the event that the machine hears */
};

struct driver_watch {
    struct driver *driver;
    struct driver_watch *next;
    struct subscription subscription;
    uint32_t node;
    bool fired; /* it has fired, and that was neither told nor dropped */
};

void driver_init(struct driver *d, const struct driver_ops *ops, zkl_session *s,
                 enum store_mode parents)
{
    d->ops = ops;
    d->session = s;
    d->parents = parents;
    d->refs = !ops->ref_owner;
}

void driver_ref(struct driver *d)
{
    if (d->refs++ == 0)
        d->ops->ref_owner(d);
}

void driver_unref(struct driver *d)
{
    if (--d->refs == 0)
        d->ops->free(d);
}

void driver_disown(struct driver *d)
{
    if (d->owned_bytes > 0)
        d->session->owned_bytes -= d->owned_bytes;
    d->owned_bytes = 0;
}

void driver_clear(struct driver *d)
{
    for (struct driver_watch *w; (w = d->watches);) {
        d->watches = w->next;
        g_free(w);
    }
    g_clear_pointer(&d->timer, g_free);
    driver_disown(d);
}

/* ---- requests ---- */

static void driver_take_event(struct driver *d, struct machine_event ev,
                              struct driver_asked *asked);

static void driver_on_answer(struct request *r, const struct store_reply *reply);

static struct driver_watch *driver_find_watch(struct driver *d, uint32_t node)
{
    struct driver_watch *w = d->watches;

    while (w && w->node != node)
        w = w->next;
    return w;
}

static void driver_on_fired(struct subscription *i, bool gone)
{
    struct driver_watch *w = SUBSCRIBER(i, struct driver_watch, subscription);

    w->fired = true;
    driver_hear_event(
        w->driver, (struct machine_event){.kind = MACHINE_EV_FIRED, .node = w->node, .gone = gone});
}

/* Adds a watch to the request; false: too much is watched. If the last watch has fired and that was
 * not told, it never is: the answer tells more. */
static bool driver_add_watch(struct driver *d, struct request *r, uint32_t node)
{
    struct driver_watch *w = driver_find_watch(d, node);

    if (!w) {
        w = g_new0(struct driver_watch, 1);
        w->driver = d;
        w->node = node;
        w->subscription = (struct subscription){.fired = driver_on_fired};
        w->next = d->watches;
        d->watches = w;
    }
    w->fired = false;
    return watch_add(d->session, r, &w->subscription);
}

/* Returns the event of an answer that has only a code; its request was not sent. */
static struct machine_event driver_answer(const struct driver_asked *asked, enum store_rc rc)
{
    return (struct machine_event){.kind = MACHINE_EV_ANSWER,
                                  .rc = rc,
                                  .verb = asked->action.verb,
                                  .node = asked->action.node,
                                  .slot = asked->action.slot,
                                  .unsent = true,
                                  .late_until = asked->late_until};
}

static const char *driver_data(struct driver *d, enum store_kind verb, uint32_t node,
                               int *ret_length)
{
    const bool writes = verb == STORE_CREATE || verb == STORE_SET;

    return writes && d->ops->data ? d->ops->data(d, node, ret_length) : NULL;
}

static void driver_add_changes(struct driver_asked *asked, struct request *r)
{
    struct driver *d = asked->driver;
    const struct machine_action *a = &asked->action;
    const struct store_change *rest = NULL;
    int count = 0;

    if (a->rest)
        rest = d->ops->rest(d, &count);
    asked->changes = g_new0(struct store_change, (gsize)a->count + (gsize)count);
    for (int i = 0; i < a->count; i++) {
        const struct machine_part *part = &a->parts[i];
        struct store_change *change = &asked->changes[i];
        *change = (struct store_change){.kind = part->verb, .length = -1, .version = part->version};
        change->path = d->ops->path(d, part->node);
        change->data = driver_data(d, part->verb, part->node, &change->length);
    }
    if (count > 0)
        memcpy(asked->changes + a->count, rest, sizeof *rest * (gsize)count);
    r->what.changes = asked->changes;
    r->what.count = a->count + count;
}

/* Whether the session has room for an ephemeral node at path. If so, counts its bytes. */
static bool driver_may_own(struct driver *d, const char *path)
{
    const size_t bytes = strlen(path) + OWNED_EACH;

    if (d->owned_bytes > 0)
        return true;
    if (d->session->owned_bytes + bytes > OWNED_MAX)
        return false;
    d->session->owned_bytes += bytes;
    /* the mask shows the compiler that all bits fit */
    d->owned_bytes = bytes & (2 * OWNED_MAX - 1);
    return true;
}

/* Sends the request; or answers STORE_LIMIT, if the session has no room for its ephemeral node or
 * its watch. Takes path. */
static void driver_send(struct driver_asked *asked, char *path)
{
    struct driver *d = asked->driver;
    const struct machine_action *a = &asked->action;
    struct request *r = request_new(a->verb, path, driver_on_answer, asked);
    bool room = true;

    r->once = a->once;
    r->lost = a->once ? d->lost : 0;
    r->only = a->connection != 0;
    r->connection = a->connection;
    r->what.mode = a->mode;
    r->what.version = a->version;
    r->what.data = driver_data(d, a->verb, a->node, &r->what.length);
    if (a->verb == STORE_MULTI)
        driver_add_changes(asked, r);
    asked->request = r;
    if (a->verb == STORE_CREATE && request_is_ephemeral(r))
        room = driver_may_own(d, path);
    else if (a->watch)
        room = driver_add_watch(d, r, a->node) || a->optional;
    if (room) {
        request_send(d->session, r);
        return;
    }
    asked->request = NULL;
    request_free(r);
    driver_take_event(d, driver_answer(asked, STORE_LIMIT), asked);
}

/* Makes and sends the requests of an action, one for each of its nodes that has a path. */
static void driver_make_requests(struct driver *d, const struct machine_action *a)
{
    const struct exchange_request number = exchange_ask(&d->exchange, a);

    for (uint32_t i = 0; i <= a->more; i++) {
        char *path = d->ops->path(d, a->node + i);
        if (!path)
            continue;
        struct driver_asked *asked = g_new0(struct driver_asked, 1);
        asked->driver = d;
        asked->action = *a;
        asked->action.node = a->node + i;
        asked->number = number;
        driver_ref(d);
        if (d->asked) {
            asked->before = d->asked->before;
            asked->before->next = asked;
        } else {
            d->asked = asked;
        }
        d->asked->before = asked; /* it is the newest */
        driver_send(asked, path);
    }
}

static void driver_free_asked(struct driver_asked *asked)
{
    struct driver *d = asked->driver;

    if (asked->next)
        asked->next->before = asked->before;
    else
        d->asked->before = asked->before;
    if (asked == d->asked)
        d->asked = asked->next;
    else
        asked->before->next = asked->next;
    if (asked->action.verb == STORE_MULTI) {
        for (int i = 0; i < asked->action.count; i++) {
            g_free((char *)(uintptr_t)asked->changes[i].path);
            g_free((char *)(uintptr_t)asked->changes[i].data);
        }
        g_free(asked->changes);
    }
    g_free(asked);
    driver_unref(d);
}

/* ---- answers ---- */

/* Moves .late_until on: the server may do a sending of this change until then. Changes that were
 * lost with an earlier session may be done until session->late_until. */
static void driver_extend_late(struct driver_asked *asked, int64_t until)
{
    struct driver *d = asked->driver;

    asked->late_until = MAX(asked->late_until, until);
    d->late = d->late && d->session->late_until > clock_now().boot;
    if (d->late)
        asked->late_until = MAX(asked->late_until, d->session->late_until);
}

static void driver_on_answer(struct request *r, const struct store_reply *reply)
{
    struct driver_asked *asked = r->context;
    struct driver *d = asked->driver;

    if (r->proves == PROOF_WRITE)
        driver_extend_late(asked, request_late_until(r, reply->rc));
    struct machine_event ev = driver_answer(asked, reply->rc);
    ev.unsent = r->sent.boot == 0;
    if (r->once)
        d->lost = ev.rc == STORE_UNKNOWN ? r->lost : 0;
    ev.version = reply->version;
    ev.czxid = reply->czxid;
    ev.mzxid = reply->mzxid;
    ev.pzxid = reply->pzxid;
    ev.mtime_ms = (uint64_t)MAX(reply->mtime_ms, 0);
    ev.ctime_ms = reply->ctime_ms;
    ev.owner = reply->ephemeral_owner;
    ev.own = reply->ephemeral_owner == d->session->id;
    ev.failed = reply->failed;
    ev.connection = r->connection;
    ev.data = reply->data;
    ev.length = (size_t)MAX(ev.verb == STORE_LIST ? reply->data_length : reply->length, 0);
    if (ev.verb == STORE_CREATE && ev.rc == STORE_OK) {
        ev.names = (const char *const *)&reply->path;
        ev.count = 1;
    } else if (ev.verb == STORE_LIST) {
        ev.names = (const char *const *)reply->names;
        ev.count = (size_t)reply->count;
    } else if (ev.verb == STORE_GET) {
        ev.count = (size_t)reply->children;
    }
    asked->request = NULL;
    if (r->what.watch) {
        struct driver_watch *w = driver_find_watch(d, ev.node);
        watch_answered(d->session, r, reply, &w->subscription);
        ev.watched = w->subscription.watch != NULL;
    }
    driver_take_event(d, ev, asked);
}

/* ---- parents ---- */

/* Sends the request, since its parents are made; or answers it with rc, the refusal of a parent. A
 * stale request is never sent: the machine does not hear its answer, even STORE_OK. */
static void driver_on_parents(struct driver_asked *asked, enum store_rc rc)
{
    struct driver *d = asked->driver;

    if (rc == STORE_OK && !exchange_is_stale(&d->exchange, asked->number))
        driver_send(asked, d->ops->path(d, asked->action.node));
    else
        driver_take_event(d, driver_answer(asked, rc), asked);
}

/* Takes the answer to the create of a parent. After the last answer, the request is sent, or fails
 * for the reason of the first parent that could not be made. */
static void driver_on_parent(struct request *r, const struct store_reply *reply)
{
    struct driver_asked *asked = r->context;
    const bool good = reply->rc == STORE_OK || reply->rc == STORE_EXISTS;

    if (!good && asked->parents_rc == STORE_OK)
        asked->parents_rc = reply->rc;
    if (--asked->parents > 0)
        return;
    driver_on_parents(asked, good                      ? STORE_OK
                             : reply->rc == STORE_GONE ? STORE_GONE
                                                       : asked->parents_rc);
}

/* Creates all missing parents at once, from the top. The root is there. */
static void driver_make_parents(struct driver_asked *asked)
{
    struct driver *d = asked->driver;
    char *path = d->ops->path(d, asked->action.node);
    const uint32_t count = path_count_above(path);

    asked->parents = count;
    asked->parents_rc = STORE_OK;
    if (count == 0)
        driver_on_parents(asked, STORE_OK);
    for (uint32_t i = 0; i < count; i++) {
        struct request *r = request_new(STORE_CREATE, path_above(path, i), driver_on_parent, asked);
        r->what.mode = (enum store_mode)d->parents;
        request_send(d->session, r);
    }
    g_free(path);
}

/* ---- actions ---- */

/* Whether all requests under way that are not stale are still unsent. */
static bool driver_is_unsent(const struct driver *d)
{
    for (const struct driver_asked *asked = d->asked; asked; asked = asked->next) {
        if (!exchange_is_stale(&d->exchange, asked->number) && asked->request &&
            asked->request->sent.boot != 0)
            return false;
    }
    return true;
}

static void driver_on_timer(void *data)
{
    driver_hear(data, MACHINE_EV_TIMER);
}

static void driver_disarm(struct driver *d)
{
    if (d->timer)
        timers_cancel(d->timer);
}

/* Recalls the requests of a node that were not sent; node NULL: those of all nodes. They are
 * answered at once. In a step, the answers wait for its end. */
static void driver_recall_requests(struct driver *d, const uint32_t *node)
{
    for (const struct driver_asked *asked = d->asked; asked; asked = asked->next) {
        if (asked->request && (!node || asked->action.node == *node))
            request_recall(asked->request);
    }
}

static void driver_drop_watch(struct driver_watch *w, bool deleting)
{
    w->fired = false;
    watch_drop(&w->subscription, deleting);
}

static void driver_end(struct driver *d, bool deleting)
{
    exchange_end(&d->exchange);
    driver_disarm(d);
    for (struct driver_watch *w = d->watches; w; w = w->next)
        driver_drop_watch(w, deleting);
    driver_recall_requests(d, NULL);
}

static void driver_unwatch(struct driver *d, uint32_t node, bool deleting)
{
    struct driver_watch *w = driver_find_watch(d, node);

    if (w)
        driver_drop_watch(w, deleting);
}

static void driver_delete_nodes(struct driver *d, const struct machine_action *a)
{
    for (uint32_t i = 0; i <= a->more; i++) {
        char *path = d->ops->path(d, a->node + i);
        if (!path)
            continue;
        driver_unwatch(d, a->node + i, true);
        orphan_delete(d->session, path);
    }
}

/* Takes the answer to a note. If it was refused, no note is sent to that path for a while. If the
 * version was another, somebody else has written there, and that is as good. */
static void driver_on_noted(struct request *r, const struct store_reply *reply)
{
    zkl_session *s = r->context;

    if (reply->rc == STORE_NOAUTH || reply->rc == STORE_BAD) {
        const int64_t until = clock_now().boot + NOTE_REFUSED_NS;
        session_forget_many(s->unnoted);
        g_hash_table_replace(s->unnoted, g_strdup(r->what.path), g_memdup2(&until, sizeof until));
    }
}

/* Sends a note, unless its path has refused one. Its answer goes to the session, since the driver
 * may be gone by then. */
static void driver_send_note(struct driver *d, const struct machine_action *a)
{
    char *path = d->ops->path(d, a->node);
    const int64_t *refused_until = g_hash_table_lookup(d->session->unnoted, path);

    if (refused_until && *refused_until > clock_now().boot) {
        g_free(path);
        return;
    }
    struct request *r = request_new(STORE_SET, path, driver_on_noted, d->session);
    r->once = true;
    r->what.version = a->version;
    r->what.data = driver_data(d, STORE_SET, a->node, &r->what.length);
    request_try(d->session, r);
}

static void driver_look_for_late_node(struct driver *d, uint32_t node)
{
    char *path = d->ops->path(d, node);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    orphan_look_late(d->session, path, slash + 1, NULL);
    g_free(path);
}

static void driver_do_action(struct driver *d, const struct machine_action *a)
{
    switch (a->kind) {
    case MACHINE_ACT_REQUEST:
        driver_make_requests(d, a);
        break;
    case MACHINE_ACT_NAME:
        d->ops->name(d, a->node);
        break;
    case MACHINE_ACT_FORGET:
        exchange_forget(&d->exchange, a->slot);
        break;
    case MACHINE_ACT_RECALL:
        driver_recall_requests(d, &a->node);
        break;
    case MACHINE_ACT_UNWATCH:
        driver_unwatch(d, a->node, a->deleting);
        break;
    case MACHINE_ACT_DELETE:
        driver_delete_nodes(d, a);
        break;
    case MACHINE_ACT_NOTE:
        driver_send_note(d, a);
        break;
    case MACHINE_ACT_LATE:
        driver_look_for_late_node(d, a->node);
        break;
    case MACHINE_ACT_ARM:
        if (!d->timer)
            d->timer = g_new0(struct timer, 1);
        timers_arm(d->session->timers, d->timer, a->at, driver_on_timer, d);
        break;
    case MACHINE_ACT_DISARM:
        driver_disarm(d);
        break;
    case MACHINE_ACT_END:
        driver_end(d, a->deleting);
        break;
    case MACHINE_ACT_TELL:
        d->ops->on_verdict(d, a);
        break;
    }
}

/* ---- steps ---- */

static void driver_step_machine(struct driver *d, const struct machine_event *ev)
{
    struct machine_actions actions = {.count = 0};

    d->stepping->event = ev;
    d->ops->step(d, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        driver_do_action(d, &actions.list[i]);
    if (d->ops->after)
        d->ops->after(d);
}

/* Remembers until when a change of a session that has ended may be done. If the servers have ended
 * it, nothing more is done. If we have, they may not have heard of that yet. */
static void driver_on_session_gone(struct driver *d, const struct machine_event *answer)
{
    zkl_session *s = d->session;

    if (answer->rc != STORE_GONE || answer->late_until == 0 || s->ended == LOSS_EXPIRED)
        return;
    s->late_until = MAX(s->late_until, answer->late_until);
    d->late = true;
}

/* Gives the machine an event, or the answer to asked. If a watch was dropped in the step for whose
 * end this has waited, it has not fired, and no answer says that it stands. A stale answer is
 * dropped. If an answer says that a parent is missing, the parents are made first. */
static void driver_give_event(struct driver *d, struct machine_event *ev,
                              struct driver_asked *asked)
{
    struct driver_watch *w =
        ev->kind == MACHINE_EV_FIRED || ev->watched ? driver_find_watch(d, ev->node) : NULL;

    if (asked) {
        ev->watched = w && (w->subscription.watch || w->fired);
        const enum exchange_answer answer = exchange_answered(&d->exchange, asked->number, ev);
        if (answer == EXCHANGE_PARENTS) {
            driver_make_parents(asked);
            return;
        }
        driver_on_session_gone(d, ev);
        driver_free_asked(asked);
        if (answer == EXCHANGE_HEARD)
            driver_step_machine(d, ev);
        return;
    }
    if (ev->kind == MACHINE_EV_FIRED) {
        if (!w->fired)
            return;
        w->fired = false;
    }
    exchange_set_unsent(&d->exchange, ev, driver_is_unsent(d));
    driver_step_machine(d, ev);
}

/* Copies an event for the end of the step. */
static void driver_put_off_event(struct driver *d, const struct machine_event *ev,
                                 struct driver_asked *asked)
{
    struct coming *c = g_new(struct coming, 1);

    *c = (struct coming){*ev, asked, g_memdup2(ev->data, ev->length), NULL};
    c->event.data = c->data;
    if (ev->names) {
        c->names = g_ptr_array_new_full((guint)ev->count, g_free);
        for (size_t i = 0; i < ev->count; i++)
            g_ptr_array_add(c->names, g_strdup(ev->names[i]));
        c->event.names = (const char *const *)c->names->pdata;
    }
    g_queue_push_tail(&d->stepping->coming, c);
}

/* Takes an event: at once, with those that come during its step; or, in a step, after that. */
static void driver_take_event(struct driver *d, struct machine_event ev, struct driver_asked *asked)
{
    struct driver_stepping stepping = {.coming = G_QUEUE_INIT};

    if (d->stepping) {
        driver_put_off_event(d, &ev, asked);
        return;
    }
    driver_ref(d);
    d->stepping = &stepping;
    driver_give_event(d, &ev, asked);
    for (struct coming *c; (c = g_queue_pop_head(&stepping.coming));) {
        driver_give_event(d, &c->event, c->asked);
        g_free(c->data);
        g_clear_pointer(&c->names, g_ptr_array_unref);
        g_free(c);
    }
    d->stepping = NULL;
    driver_unref(d);
}

void driver_hear(struct driver *d, unsigned kind)
{
    driver_hear_event(d, (struct machine_event){.kind = kind});
}

void driver_hear_event(struct driver *d, struct machine_event ev)
{
    driver_take_event(d, ev, NULL);
}

char *driver_watch_path(struct driver *d, unsigned node)
{
    const struct driver_watch *w = driver_find_watch(d, node);

    return w && w->subscription.watch ? watch_path(&w->subscription) : NULL;
}

const char *driver_heard_name(const struct driver *d, size_t i)
{
    return d->stepping->event->names[i];
}

/* ---- all that hear of a session ---- */

struct drivers *drivers_of(zkl_session *s, const struct participant_ops *ops)
{
    return (struct drivers *)participant_of(s, ops, sizeof(struct drivers));
}

void driver_join(struct driver *d, GQueue *list)
{
    d->link.data = d;
    g_queue_push_tail_link(list, &d->link);
}

void driver_leave(struct driver *d, GQueue *list)
{
    g_queue_unlink(list, &d->link);
    d->link.data = NULL;
}

void drivers_for_all(const GQueue *list, void (*fn)(struct driver *d, void *data), void *data)
{
    guint n = 0, count = list->length;
    struct driver **all = g_new(struct driver *, count);

    for (GList *l = list->head; l; l = l->next) {
        all[n] = l->data;
        driver_ref(all[n++]);
    }
    for (n = 0; n < count; n++) {
        if (all[n]->link.data)
            fn(all[n], data);
        driver_unref(all[n]);
    }
    g_free(all);
}

static void drivers_hear_one(struct driver *d, void *kind)
{
    driver_hear(d, *(unsigned *)kind);
}

void drivers_hear(const GQueue *list, unsigned kind)
{
    drivers_for_all(list, drivers_hear_one, &kind);
}

bool drivers_are_busy(const struct participant *p)
{
    return ((const struct drivers *)p)->list.length > 0;
}

void drivers_on_replaced(struct participant *p)
{
    drivers_hear(&((struct drivers *)p)->list, MACHINE_EV_SESSION);
}

void drivers_on_over(struct participant *p)
{
    drivers_hear(&((struct drivers *)p)->list, MACHINE_EV_OVER);
}

/* ---- the driver of a call ---- */

struct driven *driven_of(struct driver *d)
{
    return DRIVER_OWNER(d, struct driven);
}

void driven_begin(struct call *c)
{
    driver_hear(&((struct driven *)c)->driver, MACHINE_EV_BEGIN);
}

void driven_stop(struct call *c, const zkl_error *why)
{
    c->error = *why;
    driver_hear(&((struct driven *)c)->driver, MACHINE_EV_STOP);
}

void driven_replaced(struct call *c)
{
    driver_hear(&((struct driven *)c)->driver, MACHINE_EV_SESSION);
}

void driven_free(struct call *c)
{
    driver_clear(&((struct driven *)c)->driver);
    g_free(c);
}

const struct call_ops driven_call_ops = {
    .begin = driven_begin, .stop = driven_stop, .replaced = driven_replaced, .free = driven_free};

char *driven_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(driven_of(d)->call.path);
}

void driven_ref(struct driver *d)
{
    call_ref(&driven_of(d)->call);
}

void driven_unref(struct driver *d)
{
    call_unref(&driven_of(d)->call);
}
