/* What a member asks of the server about its node. */
#include <limits.h>
#include <string.h>

#include "lib/base/clean.h"
#include "lib/base/error.h"
#include "lib/base/layout.h"
#include "lib/base/log.h"
#include "lib/session/denial.h"
#include "lib/session/incarnation.h"
#include "lib/session/parents.h"
#include "member.h"

/* ---- in general ---- */

static struct request *about_node(zkl_member *m, enum store_kind kind,
                                  void (*done)(struct request *r, const struct store_reply *reply),
                                  uint32_t tag)
{
    struct request *r = request_new(kind, g_strdup(m->node), done, m);

    member_ref(m);
    r->tag = tag;
    return r;
}

static void answer(zkl_member *m, uint32_t tag, enum member_event_kind kind)
{
    member_happens(m, (struct member_event){.kind = kind, .tag = tag});
}

/* Its node stands, or may, as long as the session does, which ends if nobody else needs it. Not one
 * for request_delete(): what that deletes late may be another's. */
static void keep_orphan(zkl_member *m)
{
    zkl_session *s = m->session;

    if (!m->orphan)
        log_line(s->log, ZKL_LOG_ERROR, "delete-refused", m->refusal.path, "cannot delete %s",
                 m->refusal.text);
    s->orphans += !m->orphan;
    m->orphan = true;
    member_refuse_leaves(m);
    incarnation_purge(s);
}

static void refuse(zkl_member *m, uint32_t tag, int code)
{
    const char *path = session_path(m->session, m->node);

    denial_fill(m->session, &m->refusal, code, path);
    answer(m, tag, MEMBER_EV_REFUSED);
    if (m->left && m->machine.refused)
        keep_orphan(m);
}

static void carry(const zkl_member *m, struct request *r)
{
    gsize size;
    const void *data = g_bytes_get_data(m->data, &size);

    r->what.data = g_memdup2(data, size);
    r->what.length = (int)size;
}

/* ---- the node is made ---- */

static void ask_create(zkl_member *m, uint32_t tag);

struct parents_wish {
    zkl_member *member;
    uint32_t tag;
};

static void on_parents(void *context, enum store_rc rc)
{
    struct parents_wish *wish = context;
    zkl_member *m = wish->member;

    if (rc == STORE_OK && wish->tag == m->machine.tag)
        ask_create(m, wish->tag);
    else if (rc != STORE_OK && rc != STORE_GONE)
        refuse(m, wish->tag, call_error(rc));
    member_unref(m);
    g_free(wish);
}

static void ask_parents(zkl_member *m, uint32_t tag)
{
    struct parents_wish *wish = g_new(struct parents_wish, 1);
    const enum store_mode mode =
        m->options.parents == ZKL_PARENTS_CONTAINER ? STORE_CONTAINER : STORE_PERSISTENT;

    *wish = (struct parents_wish){m, tag};
    member_ref(m);
    parents_make(m->session, m->node, mode, on_parents, wish);
}

static void on_created(struct request *r, const struct store_reply *reply)
{
    zkl_member *m = r->context;

    if (reply->rc == STORE_OK) {
        m->seen = r->connection;
        member_happens(m, (struct member_event){
                              .kind = MEMBER_EV_CREATED, .tag = r->tag, .czxid = reply->czxid});
    } else if (reply->rc == STORE_EXISTS) {
        answer(m, r->tag, MEMBER_EV_EXISTS);
    } else if (reply->rc == STORE_NONODE && r->tag == m->machine.tag) {
        ask_parents(m, r->tag);
    } else if (reply->rc != STORE_NONODE && reply->rc != STORE_GONE) {
        refuse(m, r->tag, call_error(reply->rc));
    }
    member_unref(m);
}

static void ask_create(zkl_member *m, uint32_t tag)
{
    struct request *r = about_node(m, STORE_CREATE, on_created, tag);

    r->what.mode = STORE_EPHEMERAL;
    carry(m, r);
    request_send(m->session, r);
}

/* While the session lives, a node of the last name may stand that could not be seen. */
void member_name(zkl_member *m)
{
    char *id, *name;

    if (m->node && (m->options.layout == ZKL_MEMBER_GROUP || !m->renames))
        return;
    m->renames = false;
    id = layout_new_id(CHILD_KAZOO, false);
    name = m->options.layout == ZKL_MEMBER_GROUP ? g_strdup(m->id)
                                                 : g_strconcat(id, "__party__", NULL);
    g_free(m->node);
    m->node = g_strconcat(m->directory, "/", name, NULL);
    g_free(name);
    g_free(id);
}

/* ---- and read ---- */

static bool has_newest_data(const zkl_member *m, const struct store_reply *reply)
{
    gsize size;
    const void *data = g_bytes_get_data(m->data, &size);

    return (gsize)MAX(reply->length, 0) == size &&
           (size == 0 || memcmp(data, reply->data, size) == 0);
}

static void take_node(zkl_member *m, const struct request *r, const struct store_reply *reply)
{
    const bool own = reply->ephemeral_owner == m->session->id;

    if (own) {
        m->seen = r->connection;
    } else {
        g_free(m->other_data);
        m->other_session = reply->ephemeral_owner;
        m->other_data = clean_text(reply->data, MAX(reply->length, 0));
    }
    member_happens(m, (struct member_event){.kind = MEMBER_EV_READ,
                                            .tag = r->tag,
                                            .own = own,
                                            .czxid = reply->czxid,
                                            .version = reply->version,
                                            .same = has_newest_data(m, reply)});
}

/* Nor will it be able to before a set or delete, which do without then. */
static void cannot_read(zkl_member *m, uint32_t tag, int code)
{
    m->seen = 0;
    refuse(m, tag, code);
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    zkl_member *m = r->context;

    if (r->what.watch)
        watch_answered(m->session, r, reply, &m->watch);
    if (reply->rc == STORE_OK)
        take_node(m, r, reply);
    else if (reply->rc == STORE_NONODE)
        answer(m, r->tag, MEMBER_EV_NO_NODE);
    else if (reply->rc != STORE_GONE)
        cannot_read(m, r->tag, call_error(reply->rc));
    member_unref(m);
}

static void on_fired(void *context, bool gone)
{
    member_happens(context, (struct member_event){.kind = MEMBER_EV_FIRED, .gone = gone});
}

static void ask_read(zkl_member *m, const struct member_action *a)
{
    struct request *r = about_node(m, STORE_GET, on_read, a->tag);

    m->watch.fired = on_fired;
    m->watch.context = m;
    if (!a->watch || watch_add(m->session, r, &m->watch)) {
        request_send(m->session, r);
        return;
    }
    request_free(r);
    cannot_read(m, a->tag, ZKL_ELIMIT);
    member_unref(m);
}

/* ---- and set, or deleted ---- */

/* Sent once, as another may have the id by the time of a second try; and on the connection on which
 * the node was seen, as another may have it where the servers' data have gone back since. */
static void send_once(zkl_member *m, struct request *r)
{
    r->once = true;
    r->only = m->seen != 0;
    r->connection = m->seen;
    request_send(m->session, r);
}

/* A delete has no version that could be outdated. */
static void on_changed(struct request *r, const struct store_reply *reply)
{
    zkl_member *m = r->context;

    if (reply->rc == STORE_OK)
        answer(m, r->tag, r->what.kind == STORE_SET ? MEMBER_EV_SET : MEMBER_EV_DELETED);
    else if (reply->rc == STORE_BADVERSION)
        answer(m, r->tag, MEMBER_EV_OUTDATED);
    else if (reply->rc == STORE_NONODE)
        answer(m, r->tag, MEMBER_EV_NO_NODE);
    else if (reply->rc == STORE_UNKNOWN)
        answer(m, r->tag, MEMBER_EV_UNKNOWN);
    else if (reply->rc != STORE_GONE)
        refuse(m, r->tag, call_error(reply->rc));
    member_unref(m);
}

static void ask_set(zkl_member *m, const struct member_action *a)
{
    struct request *r = about_node(m, STORE_SET, on_changed, a->tag);

    r->what.version = a->version;
    carry(m, r);
    send_once(m, r);
}

static void ask_delete(zkl_member *m, const struct member_action *a)
{
    send_once(m, about_node(m, STORE_DELETE, on_changed, a->tag));
}

static void on_passed(struct request *r, const struct store_reply *reply)
{
    zkl_member *m = r->context;

    if (reply->rc != STORE_GONE)
        answer(m, r->tag, MEMBER_EV_PASSED);
    member_unref(m);
}

/* Refused for its version by the leader: what was asked for before is done by then, or never. */
static void ask_pass(zkl_member *m, const struct member_action *a)
{
    struct request *r = about_node(m, STORE_SET, on_passed, a->tag);

    r->what.version = INT_MAX;
    request_send(m->session, r);
}

/* ---- actions ---- */

static void on_timer(void *data)
{
    member_happens(data, (struct member_event){.kind = MEMBER_EV_TIMER});
}

void member_ask(zkl_member *m, const struct member_action *a)
{
    switch (a->kind) {
    case MEMBER_ACT_CREATE:
        member_name(m);
        ask_create(m, a->tag);
        break;
    case MEMBER_ACT_READ:
        ask_read(m, a);
        break;
    case MEMBER_ACT_SET:
        ask_set(m, a);
        break;
    case MEMBER_ACT_DELETE:
        ask_delete(m, a);
        break;
    case MEMBER_ACT_PASS:
        ask_pass(m, a);
        break;
    case MEMBER_ACT_ARM:
        timers_arm(m->session->timers, &m->timer, a->at, on_timer, m);
        break;
    case MEMBER_ACT_DISARM:
        timers_cancel(&m->timer);
        break;
    case MEMBER_ACT_IGNORE:
        watch_drop(&m->watch, m->machine.state == MEMBER_LEAVING);
        break;
    case MEMBER_ACT_TELL: /* not about the server */
    case MEMBER_ACT_OVER:
        break;
    }
}
