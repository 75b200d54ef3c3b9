/* A member of a group: it turns what recipes/member.h decides into events for the user, ends of
 * calls and a grant. The user gets the events in their order, and LEFT is the last.
 * docs/design/members.md has the argument. Functions in tables are called with the monitor held,
 * and so is what they call. The functions of the interface are called without it. So is
 * member_deliver(), which runs on the callback thread. */
#include "member.h"

#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/clean.h"
#include "lib/base/error.h"
#include "lib/base/layout.h"
#include "lib/base/log.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/session/denial.h"
#include "lib/session/incarnation.h"
#include "lib/session/participant.h"
#include "members.h"
#include "recipes/name.h"

enum { ID_MAX = 255, DATA_MAX = 64 * 1024 };

static void member_free(struct driver *d)
{
    zkl_member *m = DRIVER_OWNER(d, zkl_member);

    driver_clear(d);
    session_unref(m->session);
    g_bytes_unref(m->data);
    g_free(m->directory);
    g_free(m->id);
    g_free(m->node);
    g_free(m->other_data);
    g_free(m);
}

/* ---- what the user is told ---- */

/* A message belongs to the callback thread once it is pushed. That thread sets .news.data and .err.
 */
struct member_message {
    zkl_member *member;
    zkl_member_event event;
    zkl_member_news news;
    zkl_error error; /* .code 0: none */
    char *data;
};

static void member_free_message(struct member_message *msg)
{
    driver_unref(&msg->member->driver);
    g_free(msg->data);
    g_free(msg);
}

static void member_deliver(void *data)
{
    struct member_message *msg = data;
    zkl_member *m = msg->member;
    zkl_session *s = session_ref(m->session);

    msg->news.data = msg->data ? msg->data : "";
    msg->news.err = msg->error.code ? &msg->error : NULL;
    m->options.fn(m, msg->event, &msg->news, m->options.fn_data);
    session_lock(s);
    member_free_message(msg);
    session_unlock(s);
    session_unref(s);
}

static void member_push(zkl_member *m, zkl_member_event event, zkl_member_news news,
                        const zkl_error *why)
{
    struct member_message *msg;

    if (!m->options.fn)
        return;
    msg = g_new0(struct member_message, 1);
    *msg = (struct member_message){.member = m, .event = event, .news = news};
    if (event == ZKL_MEMBER_BUSY)
        msg->data = g_strdup(m->other_data);
    if (why)
        msg->error = *why;
    driver_ref(&m->driver);
    if (!callbacks_push(m->session->callbacks, member_deliver, msg))
        member_free_message(msg);
}

/* ---- what callers wait for ---- */

enum awaited { AWAITS_JOINED, AWAITS_WRITTEN, AWAITS_LEFT };

struct member_call {
    struct call call;
    zkl_member *of; /* NULL: the call has ended */
    GList link;
    enum awaited awaited;
    GBytes *data;        /* of AWAITS_WRITTEN */
    uint32_t generation; /* the generation of .data */
};

static void member_end_call(struct member_call *c, const zkl_error *why)
{
    zkl_member *m = c->of;

    if (!m)
        return;
    c->of = NULL;
    g_queue_unlink(&m->calls, &c->link);
    call_end_as(&c->call, why);
    driver_unref(&m->driver);
}

/* Ends the calls that wait for that; of AWAITS_WRITTEN those whose data are of that generation or
 * an earlier one. why NULL: what they wait for has come. */
static void member_end_those(zkl_member *m, enum awaited awaited, uint32_t generation,
                             const zkl_error *why)
{
    for (GList *l = m->calls.head, *next; l; l = next) {
        struct member_call *c = l->data;
        next = l->next;
        if (c->awaited == awaited && (awaited != AWAITS_WRITTEN || c->generation <= generation))
            member_end_call(c, why);
    }
}

static void member_end_calls(zkl_member *m, const zkl_error *why)
{
    for (int awaited = AWAITS_JOINED; awaited <= AWAITS_LEFT; awaited++)
        member_end_those(m, (enum awaited)awaited, UINT32_MAX, why);
}

/* ---- its grant: each time when the member joins it gets one, which ends before others may think
 * the member gone ----
 *
 * A deadline costs writes, so the member has none before its grant is asked for. */

static const struct grant_ops member_grant_ops = {.stays = true};

static void member_begin_tenure(zkl_member *m, uint64_t czxid)
{
    m->tenure = tenure_new(m->session, NULL, NULL, m->node, NULL, czxid);
    grant_unref(grant_new_turn(m->tenure, NULL, m->joins - 1, &member_grant_ops, NULL));
}

static void member_begin_proved(zkl_member *m)
{
    m->proved = true;
    if (m->machine.told_in)
        member_begin_tenure(m, m->machine.told_czxid);
}

static void member_end_tenure(zkl_member *m)
{
    grant_detach(m->tenure);
    tenure_unref(m->tenure);
    m->tenure = NULL;
}

/* Loses the tenure, if there is one, and returns why it was lost. */
static zkl_loss member_lose(zkl_member *m, enum loss loss)
{
    if (!m->tenure)
        return (zkl_loss)loss;
    grant_lose(m->tenure, loss, NULL, NULL);
    const zkl_loss why = grant_loss(m->tenure); /* its deadline may have passed before */

    member_end_tenure(m);
    return why;
}

/* Ends the grant of a member that leaves: as lost if the session has ended, or else as released. */
static void member_end_grant(zkl_member *m)
{
    const zkl_session *s = m->session;

    if (s->closing || s->refused) {
        member_lose(m, (enum loss)s->ended);
        return;
    }
    if (!m->tenure)
        return;
    grant_disown(m->tenure->grant);
    member_end_tenure(m);
}

/* Whether the grant is valid, or would be if the member had one. A grant ends a little before the
 * session's deadline. */
static bool member_is_valid(const zkl_member *m, struct instant now)
{
    const struct proofs *proofs = &m->session->proofs;
    struct validity next;
    int64_t ignored;

    if (!m->proved)
        return true;
    if (proofs_deadline(proofs, now) == DEADLINE_NONE)
        return false;
    if (!m->tenure)
        validity_begin(&next, ZKL_HELD, proofs->deadline);
    return validity_state(m->tenure ? &m->tenure->validity : &next, &ignored) < ZKL_LOST;
}

static void member_tell_lost(zkl_member *m, const struct machine_action *a)
{
    const enum loss loss = a->verdict == MEMBER_TELL_DEADLINE  ? LOSS_DEADLINE
                           : a->verdict == MEMBER_TELL_DELETED ? LOSS_DELETED
                                                               : (enum loss)m->session->ended;

    const zkl_member_news news = {.token = a->czxid, .loss = member_lose(m, loss)};
    member_push(m, ZKL_MEMBER_LOST, news, NULL);
}

/* Tells the user what has become of the membership, and ends the calls that waited for it. */
static void member_tell_verdict(zkl_member *m, const struct machine_action *a)
{
    zkl_member_news news = {.token = a->czxid};

    switch (a->verdict) {
    case MEMBER_TELL_DEADLINE:
    case MEMBER_TELL_SESSION:
    case MEMBER_TELL_DELETED:
        member_tell_lost(m, a);
        break;
    case MEMBER_TELL_LEAVES: /* the user is told LEFT later, which says more */
        member_end_grant(m);
        break;
    case MEMBER_TELL_JOINED:
        m->joins++;
        if (m->proved)
            member_begin_tenure(m, a->czxid);
        news.again = m->joined;
        m->joined = true;
        member_push(m, ZKL_MEMBER_JOINED, news, NULL);
        member_end_those(m, AWAITS_JOINED, 0, NULL);
        break;
    case MEMBER_TELL_SUSPECT:
        grant_suspect(m->tenure);
        member_push(m, ZKL_MEMBER_SUSPECT, news, NULL);
        break;
    case MEMBER_TELL_PROVED:
        member_push(m, ZKL_MEMBER_HELD, news, NULL);
        break;
    case MEMBER_TELL_BUSY:
        news.session_id = m->other_session;
        member_push(m, ZKL_MEMBER_BUSY, news, NULL);
        break;
    case MEMBER_TELL_FAILED:
        member_push(m, ZKL_MEMBER_FAILED, (zkl_member_news){.token = 0}, &m->refusal);
        member_end_those(m, AWAITS_JOINED, 0, &m->refusal);
        member_end_those(m, AWAITS_WRITTEN, UINT32_MAX, &m->refusal);
        break;
    case MEMBER_TELL_WRITTEN:
        member_end_those(m, AWAITS_WRITTEN, m->machine.written, NULL);
        break;
    case MEMBER_TELL_UNWRITTEN:
        member_end_those(m, AWAITS_WRITTEN, m->machine.denied, &m->refusal);
        break;
    default:
        break;
    }
}

static void member_tell_left(zkl_member *m)
{
    zkl_session *s = m->session;
    const char *path = session_path(s, m->node);
    zkl_error why = {.code = 0};
    zkl_error left;

    if (s->closing)
        error_fill(&why, ZKL_ECLOSED, path, "the session was closed");
    else if (s->refused)
        error_fill(&why, ZKL_EAUTH, path, "%s", zkl_strerror(ZKL_EAUTH));
    member_end_those(m, AWAITS_LEFT, 0, &why);
    error_fill(&left, ZKL_EPERM, path, "%s: the member has left", path);
    member_end_calls(m, why.code ? &why : &left);
    member_push(m, ZKL_MEMBER_LEFT, (zkl_member_news){.token = 0}, why.code ? &why : NULL);
}

/* ---- all members of a session that are not over ---- */

struct member_list {
    struct drivers drivers;
    /* node -> the first member that has it, with .next_same; no members of parties */
    GHashTable *nodes;
    unsigned asking;   /* how many members .asks */
    bool told_suspect; /* the members were told SUSPECT, and no proof has come since */
};

static bool member_list_needs_deadline(const struct participant *p)
{
    return ((const struct member_list *)p)->asking > 0;
}

static enum presence member_list_presence(const struct participant *p)
{
    for (const GList *l = ((const struct drivers *)p)->list.head; l; l = l->next) {
        const enum member_state state = DRIVER_OWNER(l->data, zkl_member)->machine.state;
        if (state == MEMBER_IN || state == MEMBER_CREATING)
            return PRESENCE_IN;
    }
    return drivers_are_busy(p) ? PRESENCE_WAITS : PRESENCE_NONE;
}

static void member_list_step(struct participant *p, unsigned kind)
{
    drivers_hear(&((struct drivers *)p)->list, kind);
}

static void member_list_set_suspect(struct participant *p, bool suspect)
{
    for (GList *l = ((struct drivers *)p)->list.head; l; l = l->next)
        DRIVER_OWNER(l->data, zkl_member)->suspect = suspect;
}

static void member_list_on_deadline(struct participant *p)
{
    member_list_step(p, MEMBER_EV_STANDING);
}

/* Steps the members only if one of them goes by the deadline, or was told SUSPECT. If a server
 * stands alone, each write that it answers is a proof: a thousand members that join would each be
 * stepped a thousand times. */
static void member_list_on_proved(struct participant *p)
{
    struct member_list *all = (struct member_list *)p;

    if (all->asking == 0 && !all->told_suspect)
        return;
    all->told_suspect = false;
    member_list_set_suspect(p, false);
    member_list_step(p, MEMBER_EV_STANDING);
}

static void member_list_on_suspect(struct participant *p)
{
    member_list_set_suspect(p, true);
    member_list_step(p, MEMBER_EV_STANDING);
    ((struct member_list *)p)->told_suspect = true;
}

static void member_want_end_no_more(zkl_member *m)
{
    incarnation_want_end_no_more(m->session, m->orphan);
    incarnation_want_end_no_more(m->session, m->unsettled);
    m->orphan = m->unsettled = false;
}

static void member_list_on_replaced(struct participant *p)
{
    member_list_set_suspect(p, false);
    for (GList *l = ((struct drivers *)p)->list.head; l; l = l->next) {
        zkl_member *m = DRIVER_OWNER(l->data, zkl_member);
        m->renames = true;
        member_want_end_no_more(m);
    }
    member_list_step(p, MACHINE_EV_SESSION);
}

static void member_list_on_over(struct participant *p)
{
    member_list_step(p, MACHINE_EV_OVER);
}

static void member_list_free(struct participant *p)
{
    g_hash_table_unref(((struct member_list *)p)->nodes);
    g_free((struct member_list *)p);
}

static const struct participant_ops member_list_ops = {
    .is_busy = drivers_are_busy,
    .needs_deadline = member_list_needs_deadline,
    .presence = member_list_presence,
    .on = {[NEWS_PROVED] = member_list_on_proved,
           [NEWS_DEADLINE_MOVED] = member_list_on_deadline,
           [NEWS_SUSPECT] = member_list_on_suspect,
           [NEWS_DEADLINE_PASSED] = member_list_on_deadline,
           [NEWS_REPLACED] = member_list_on_replaced,
           [NEWS_REFUSED] = member_list_on_over,
           [NEWS_CLOSED] = member_list_on_over},
    .free = member_list_free};

static struct member_list *member_list_of(zkl_session *s)
{
    struct member_list *all =
        (struct member_list *)participant_of(s, &member_list_ops, sizeof(struct member_list));

    if (!all->nodes)
        all->nodes = g_hash_table_new(g_str_hash, g_str_equal);
    return all;
}

static zkl_member *member_list_find(zkl_session *s, const char *node)
{
    return g_hash_table_lookup(member_list_of(s)->nodes, node);
}

static void member_list_add(zkl_member *m)
{
    struct member_list *all = member_list_of(m->session);
    zkl_member *last = member_list_find(m->session, m->node);

    driver_join(&m->driver, &all->drivers.list);
    while (last && last->next_same)
        last = last->next_same;
    if (last)
        last->next_same = m;
    else if (m->options.layout == ZKL_MEMBER_GROUP)
        g_hash_table_insert(all->nodes, m->node, m);
}

static void member_list_remove(zkl_member *m)
{
    struct member_list *all = member_list_of(m->session);
    zkl_member *before = member_list_find(m->session, m->node);

    driver_leave(&m->driver, &all->drivers.list);
    all->asking -= m->asks;
    if (before == m) {
        g_hash_table_remove(all->nodes, m->node);
        if (m->next_same)
            g_hash_table_insert(all->nodes, m->next_same->node, m->next_same);
        return;
    }
    while (before && before->next_same != m)
        before = before->next_same;
    if (before)
        before->next_same = m->next_same;
}

/* ---- steps ---- */

static void member_begin(zkl_member *m)
{
    driver_hear(&m->driver, MACHINE_EV_BEGIN);
}

static void member_retire(zkl_member *m)
{
    zkl_session *s = m->session;
    zkl_member *next;

    m->left = true;
    member_list_remove(m);
    member_tell_left(m);
    member_want_end_no_more(m);
    driver_disown(&m->driver);
    next = member_list_find(s, m->node);
    if (next && !s->closing)
        member_begin(next);
    incarnation_retired(s);
    driver_unref(&m->driver); /* the reference of the list */
}

static bool member_has_newest_data(const zkl_member *m, const struct machine_event *ev)
{
    gsize size;
    const void *data = g_bytes_get_data(m->data, &size);

    return ev->length == size && (size == 0 || memcmp(data, ev->data, size) == 0);
}

static void member_driver_step(struct driver *d, const struct machine_event *ev,
                               struct machine_actions *out)
{
    zkl_member *m = DRIVER_OWNER(d, zkl_member);
    const struct instant now = clock_now();
    const bool answered =
        m->asks && !m->proved && proofs_deadline(&m->session->proofs, now) != DEADLINE_NONE;

    if (answered)
        member_begin_proved(m);
    const struct member_moment moment = {.now = now.boot,
                                         .valid = member_is_valid(m, now),
                                         .suspect = m->suspect && m->proved,
                                         .same =
                                             ev->rc == STORE_OK && member_has_newest_data(m, ev)};

    if (ev->kind == MACHINE_EV_ANSWER && ev->verb == STORE_GET && ev->rc == STORE_OK && !ev->own) {
        /* another session has the id */
        g_free(m->other_data);
        m->other_session = ev->owner;
        m->other_data = clean_text(ev->data, (int)ev->length);
    }
    member_step(&m->machine, ev, &moment, out);
    /* a tenure that ends with this session has no part in the deadline of the next one */
    if (m->tenure && m->machine.told_in)
        grant_move_deadline(m->tenure, m->session->proofs.deadline, !m->machine.told_suspect);
    if (answered && m->tenure) /* zkl_member_grant() has failed with ZKL_EUNREACHABLE, and may be
                                  called again */
        member_push(m, ZKL_MEMBER_HELD, (zkl_member_news){.token = m->machine.told_czxid}, NULL);
}

static char *member_driver_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(DRIVER_OWNER(d, zkl_member)->node);
}

/* Names the node. A member of a group has its id. One of a party has a new name in each session:
 * while a session lives, a node of its former name may stand that could not be seen. */
static void member_driver_name(struct driver *d, unsigned node)
{
    zkl_member *m = DRIVER_OWNER(d, zkl_member);
    char *id, *name;

    (void)node;
    if (m->node && (m->options.layout == ZKL_MEMBER_GROUP || !m->renames))
        return;
    m->renames = false;
    id = layout_new_id(CHILD_KAZOO, false);
    name =
        m->options.layout == ZKL_MEMBER_GROUP ? g_strdup(m->id) : g_strconcat(id, NAME_PARTY, NULL);
    g_free(m->node);
    m->node = g_strconcat(m->directory, "/", name, NULL);
    g_free(name);
    g_free(id);
}

static char *member_driver_data(struct driver *d, unsigned node, int *ret_length)
{
    gsize size;
    const void *data = g_bytes_get_data(DRIVER_OWNER(d, zkl_member)->data, &size);

    if (node == MEMBER_NODE_UNWRITTEN)
        return NULL;
    *ret_length = (int)size;
    return g_memdup2(data, size);
}

/* Sees to it that the session ends, if nobody else needs it: a node of the member stands, or may,
 * as long as the session does. orphan_delete() would not do, since what it deletes late may be
 * another member's. */
static void member_keep_orphan(zkl_member *m)
{
    zkl_session *s = m->session;

    if (!m->orphan)
        log_line(s->log, ZKL_LOG_ERROR, "delete-refused", m->refusal.path, "cannot delete %s",
                 m->refusal.text);
    member_end_those(m, AWAITS_LEFT, 0, &m->refusal); /* its node stays */
    incarnation_want_end(s, m->orphan);
    m->orphan = true;
}

static void member_on_verdict(struct driver *d, const struct machine_action *a)
{
    zkl_member *m = DRIVER_OWNER(d, zkl_member);

    if (a->verdict == MEMBER_TELL_REFUSED) {
        denial_fill(m->session, &m->refusal, call_error(a->rc), session_path(m->session, m->node));
    } else if (a->verdict == MEMBER_TELL_ORPHAN) {
        member_keep_orphan(m);
    } else if (a->verdict == MEMBER_TELL_UNSETTLED) {
        incarnation_want_end(m->session, m->unsettled);
        m->unsettled = true;
    } else if (a->verdict == MEMBER_TELL_OVER) {
        member_retire(m);
    } else {
        member_tell_verdict(m, a);
    }
}

static const struct driver_ops member_driver_ops = {.step = member_driver_step,
                                                    .path = member_driver_path,
                                                    .name = member_driver_name,
                                                    .data = member_driver_data,
                                                    .on_verdict = member_on_verdict,
                                                    .free = member_free};

/* Lets the member leave. Ends the calls that wait for joining or for a write. */
static void member_quit(zkl_member *m)
{
    const char *path = session_path(m->session, m->node);
    zkl_error left;

    m->left = true;
    error_fill(&left, ZKL_EPERM, path, "%s: the member has left", path);
    member_end_those(m, AWAITS_JOINED, 0, &left);
    member_end_those(m, AWAITS_WRITTEN, UINT32_MAX, &left);
    driver_hear(&m->driver, MEMBER_EV_LEAVE);
}

/* ---- joining ---- */

static const char *member_check_data(const void *data, size_t size, zkl_member_layout layout)
{
    if (size > DATA_MAX)
        return "data has more than 65536 bytes";
    if (size > 0 && !data)
        return "data is NULL and size is not 0";
    if (layout == ZKL_MEMBER_PARTY && size > 0)
        return "a member of a party has no data";
    return NULL;
}

static const char *member_check_options(const zkl_member_options *o, const char *id,
                                        const void *data, size_t size)
{
    if (!id || !*id || strnlen(id, ID_MAX + 1) > ID_MAX)
        return "id must have 1 to 255 bytes";
    if (strchr(id, '/') || strcmp(id, ".") == 0 || strcmp(id, "..") == 0)
        return "id is no name of a node";
    if (path_check_characters(id))
        return "id has characters that ZooKeeper refuses";
    if (o->layout != ZKL_MEMBER_GROUP && o->layout != ZKL_MEMBER_PARTY)
        return "layout is none of zkl_member_layout";
    if (o->parents != ZKL_PARENTS_CONTAINER && o->parents != ZKL_PARENTS_PERSISTENT)
        return "parents is none of zkl_parents";
    return member_check_data(data, size, o->layout);
}

/* Adds the member to its session. If another member of the session has the node and leaves, this
 * one waits until that is over. */
static int member_enter(zkl_member *m)
{
    zkl_session *s = m->session;
    const char *path = session_path(s, m->node);

    if (s->closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    const zkl_member *before = member_list_find(s, m->node);
    for (const zkl_member *i = before; i; i = i->next_same)
        if (!i->left)
            return error_set(ZKL_EBUSY, path, "%s: a member of this session has this id", path);
    if (!s->refused)
        incarnation_warm(s);
    driver_ref(&m->driver);
    member_list_add(m);
    if (s->refused)
        driver_hear(&m->driver, MACHINE_EV_OVER);
    else if (!before)
        member_begin(m);
    return 0;
}

int zkl_member_join(zkl_member **ret, zkl_session *s, const char *path, const char *id,
                    const void *data, size_t size, const zkl_member_options *options)
{
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
    const char *wrong;
    int code;

    if (!ret)
        return error_set(ZKL_EINVAL, path, "zkl_member_join: ret is NULL");
    if ((code = call_check(s, "zkl_member_join", path, false)))
        return code;
    wrong = options_take(&o, sizeof o, options);
    if (!wrong)
        wrong = member_check_options(&o, id, data, size);
    if (wrong)
        return error_set(ZKL_EINVAL, path, "zkl_member_join: %s", wrong);
    zkl_member *m = g_new0(zkl_member, 1);
    m->generation = s->generation;
    m->session = session_ref(s);
    m->options = o;
    m->directory = g_strconcat(s->chroot, path, NULL);
    m->id = g_strdup(id);
    driver_init(&m->driver, &member_driver_ops, s,
                o.parents == ZKL_PARENTS_CONTAINER ? STORE_CONTAINER : STORE_PERSISTENT);
    member_driver_name(&m->driver, MEMBER_NODE);
    m->data = o.layout == ZKL_MEMBER_PARTY ? g_bytes_new(id, strlen(id)) : g_bytes_new(data, size);
    session_lock(s);
    code = member_enter(m);
    if (code)
        driver_unref(&m->driver);
    session_unlock(s);
    if (code == 0)
        *ret = m;
    return code;
}

void zkl_member_free(zkl_member *m)
{
    zkl_session *s;
    zkl_error why;

    if (!m || fork_is_child(m->generation))
        return;
    s = session_ref(m->session);
    session_lock(s);
    error_fill(&why, ZKL_ECLOSED, session_path(s, m->node), "the member was freed");
    member_end_calls(m, &why);
    member_quit(m);
    driver_unref(&m->driver);
    session_unlock(s);
    session_unref(s);
}

/* ---- calls ---- */

/* Replaces ZKL_ETIMEDOUT by the reason, if the member knows it. */
static void member_explain(const zkl_member *m, zkl_error *why)
{
    const char *path = session_path(m->session, m->node);

    if (why->code != ZKL_ETIMEDOUT)
        return;
    if (m->machine.state == MEMBER_BACKED_OFF && m->refusal.code) {
        *why = m->refusal;
    } else if (m->machine.state == MEMBER_WAITING) {
        error_fill(why, ZKL_EBUSY, path, "%s: session 0x%" G_GINT64_MODIFIER "x has this id%s%s",
                   path, m->other_session, *m->other_data ? ": " : "", m->other_data);
    }
}

static void member_call_stop(struct call *call, const zkl_error *given)
{
    struct member_call *c = (struct member_call *)call;
    zkl_error why = *given;

    if (c->of && c->awaited != AWAITS_LEFT)
        member_explain(c->of, &why);
    member_end_call(c, &why);
}

/* Whether what such calls wait for has come already. */
static bool member_has_already(const zkl_member *m, enum awaited awaited)
{
    return awaited == AWAITS_JOINED ? m->machine.told_in
                                    : awaited == AWAITS_LEFT && m->machine.state == MEMBER_OVER;
}

static void member_call_begin(struct call *call)
{
    struct member_call *c = (struct member_call *)call;
    zkl_member *m = c->of;

    /* the deadline alone may have made the member lost, or valid again: no event has told that */
    if (c->awaited == AWAITS_JOINED)
        driver_hear(&m->driver, MEMBER_EV_STANDING);
    if (!c->of) /* the event has ended the call */
        return;
    if (member_has_already(m, c->awaited)) {
        member_end_call(c, NULL);
    } else if (c->awaited == AWAITS_WRITTEN) {
        g_bytes_unref(m->data);
        m->data = g_bytes_ref(c->data);
        /* the generation that the next UPDATE gives these data */
        c->generation = m->machine.wanted + 1;
        driver_hear(&m->driver, MEMBER_EV_UPDATE);
    } else if (c->awaited == AWAITS_LEFT) {
        member_quit(m);
    }
}

static int member_call_enter(struct call *call)
{
    struct member_call *c = (struct member_call *)call;
    zkl_member *m = c->of;
    const char *path = session_path(m->session, m->directory);

    c->of = NULL;
    if (m->session->closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    if (m->left && c->awaited != AWAITS_LEFT)
        return error_set(ZKL_EPERM, path, "%s: the member has left", path);
    c->of = m;
    driver_ref(&m->driver);
    g_queue_push_tail_link(&m->calls, &c->link);
    return 0;
}

static void member_call_free(struct call *call)
{
    struct member_call *c = (struct member_call *)call;

    g_clear_pointer(&c->data, g_bytes_unref);
    g_free(c);
}

static const struct call_ops member_call_ops = {.waits = true,
                                                .enter = member_call_enter,
                                                .begin = member_call_begin,
                                                .stop = member_call_stop,
                                                .free = member_call_free};

/* Makes and runs a call. data: of AWAITS_WRITTEN. fn NULL: the call blocks. */
static int member_call_run(zkl_member *m, const char *doing, enum awaited awaited, GBytes *data,
                           int64_t timeout_ms, zkl_done_fn fn, void *fn_data)
{
    struct member_call *c;
    zkl_session *s = m->session;
    int code;

    if ((code = call_check(s, doing, session_path(s, m->directory), fn == NULL)))
        return code;
    c = g_new0(struct member_call, 1);
    c->of = m;
    c->awaited = awaited;
    c->link.data = c;
    c->data = data ? g_bytes_ref(data) : NULL;
    call_init(&c->call, &member_call_ops, s, g_strdup(m->directory), fn, fn_data);
    return call_run(&c->call, timeout_ms);
}

/* Sets the error of a call whose argument what is NULL. */
static int member_refuse(const char *doing, const char *what)
{
    return error_set(ZKL_EINVAL, NULL, "%s: %s is NULL", doing, what);
}

int zkl_member_wait(zkl_member *m, int64_t timeout_ms)
{
    if (!m)
        return member_refuse("zkl_member_wait", "m");
    return member_call_run(m, "zkl_member_wait", AWAITS_JOINED, NULL, timeout_ms, NULL, NULL);
}

int zkl_member_wait_async(zkl_member *m, int64_t timeout_ms, zkl_done_fn fn, void *fn_data)
{
    if (!m || !fn)
        return member_refuse("zkl_member_wait_async", m ? "fn" : "m");
    return member_call_run(m, "zkl_member_wait_async", AWAITS_JOINED, NULL, timeout_ms, fn,
                           fn_data);
}

static int member_update(zkl_member *m, const char *doing, const void *data, size_t size,
                         int64_t timeout_ms, zkl_done_fn fn, void *fn_data)
{
    const char *wrong = member_check_data(data, size, m->options.layout);
    int code;

    if (!wrong && m->options.layout == ZKL_MEMBER_PARTY)
        wrong = "a member of a party has no data";
    if (wrong)
        return error_set(ZKL_EINVAL, NULL, "%s: %s", doing, wrong);
    GBytes *bytes = g_bytes_new(data, size);
    code = member_call_run(m, doing, AWAITS_WRITTEN, bytes, timeout_ms, fn, fn_data);
    g_bytes_unref(bytes);
    return code;
}

int zkl_member_update(zkl_member *m, const void *data, size_t size, int64_t timeout_ms)
{
    if (!m)
        return member_refuse("zkl_member_update", "m");
    return member_update(m, "zkl_member_update", data, size, timeout_ms, NULL, NULL);
}

int zkl_member_update_async(zkl_member *m, const void *data, size_t size, int64_t timeout_ms,
                            zkl_done_fn fn, void *fn_data)
{
    if (!m || !fn)
        return member_refuse("zkl_member_update_async", m ? "fn" : "m");
    return member_update(m, "zkl_member_update_async", data, size, timeout_ms, fn, fn_data);
}

int zkl_member_leave(zkl_member *m, int64_t timeout_ms)
{
    if (!m)
        return member_refuse("zkl_member_leave", "m");
    return member_call_run(m, "zkl_member_leave", AWAITS_LEFT, NULL, timeout_ms, NULL, NULL);
}

int zkl_member_leave_async(zkl_member *m, int64_t timeout_ms, zkl_done_fn fn, void *fn_data)
{
    if (!m || !fn)
        return member_refuse("zkl_member_leave_async", m ? "fn" : "m");
    return member_call_run(m, "zkl_member_leave_async", AWAITS_LEFT, NULL, timeout_ms, fn, fn_data);
}

/* ---- the grant ---- */

/* Stores a reference to a grant that is not lost. The first call asks for the grant. A deadline
 * that has passed counts, even if no thread has noticed it. */
static int member_own_grant(zkl_member *m, zkl_grant **ret)
{
    const char *path = session_path(m->session, m->node);

    if (m->left)
        return error_set(ZKL_EPERM, path, "%s: the member has left", path);
    if (m->machine.told_in && !m->asks) {
        m->asks = true;
        member_list_of(m->session)->asking++;
        if (proofs_deadline(&m->session->proofs, clock_now()) != DEADLINE_NONE)
            member_begin_proved(m);
        driver_hear(&m->driver, MEMBER_EV_STANDING);
        incarnation_heat(m->session);
    }
    if (m->machine.told_in && !m->proved)
        return error_set(ZKL_EUNREACHABLE, path, "%s: not proved yet: ask again", path);
    zkl_grant *g = m->tenure ? m->tenure->grant : NULL;
    if (!g || zkl_grant_state(g) >= ZKL_LOST)
        return error_set(ZKL_ELOST, path, "%s: not a member now", path);
    grant_own(g);
    *ret = grant_ref(g);
    return 0;
}

int zkl_member_grant(zkl_member *m, zkl_grant **ret)
{
    int code;

    if (!m || !ret)
        return member_refuse("zkl_member_grant", m ? "ret" : "m");
    if ((code = call_check(m->session, "zkl_member_grant", session_path(m->session, m->directory),
                           false)))
        return code;
    session_lock(m->session);
    code = m->session->closing ? error_set(ZKL_ECLOSED, NULL, "the session was closed")
                               : member_own_grant(m, ret);
    session_unlock(m->session);
    return code;
}
