/* Members: the handle, and what its machine asks and tells. */
#include "member.h"

#include <string.h>

#include "lib/base/clean.h"
#include "lib/base/error.h"
#include "lib/base/layout.h"
#include "lib/base/log.h"
#include "lib/base/options.h"
#include "lib/session/denial.h"
#include "lib/session/incarnation.h"
#include "member_session.h"

enum { ID_MAX = 255, DATA_MAX = 64 * 1024 };

void member_ref(zkl_member *m)
{
    m->refs++;
}

void member_unref(zkl_member *m)
{
    if (--m->refs > 0)
        return;
    session_unref(m->session);
    driver_clear(&m->driver);
    g_bytes_unref(m->data);
    g_free(m->directory);
    g_free(m->id);
    g_free(m->node);
    g_free(m->other_data);
    g_free(m);
}

/* ---- steps ---- */

static void publish(zkl_member *m)
{
    const struct member *machine = &m->machine;
    zkl_state state = ZKL_LOST;

    if (m->left)
        state = ZKL_RELEASED;
    else if (machine->told_in)
        state = machine->told_suspect ? ZKL_SUSPECT : ZKL_HELD;
    atomic_store(&m->token, machine->state == MEMBER_IN ? machine->czxid : 0);
    standing_set(&m->standing, state, m->session->proofs.deadline);
}

static void begin(zkl_member *m)
{
    member_happens(m, MACHINE_EV_BEGIN);
}

static void retire(zkl_member *m)
{
    zkl_session *s = m->session;
    zkl_member *next;

    m->left = true;
    publish(m);
    members_remove(m);
    member_tell_left(m);
    s->orphans -= m->orphan;
    next = members_find(s, m->node);
    if (next && !s->closing)
        begin(next);
    incarnation_retired(s);
    member_unref(m); /* the list's */
}

static zkl_member *member_driven(struct driver *d)
{
    return DRIVER_OWNER(d, zkl_member);
}

static bool has_newest_data(const zkl_member *m, const struct machine_event *ev)
{
    gsize size;
    const void *data = g_bytes_get_data(m->data, &size);

    return ev->length == size && (size == 0 || memcmp(data, ev->data, size) == 0);
}

static void member_keep(zkl_member *m, const struct machine_event *ev)
{
    if (ev->kind != MACHINE_EV_ANSWER || ev->verb != STORE_GET || ev->rc != STORE_OK || ev->own)
        return;
    g_free(m->other_data);
    m->other_session = ev->owner;
    m->other_data = clean_text(ev->data, (int)ev->length);
}

static void member_driver_step(struct driver *d, const struct machine_event *ev,
                               struct machine_actions *out)
{
    zkl_member *m = member_driven(d);
    const struct instant now = clock_now();
    const struct member_moment moment = {.now = now.boot,
                                         .valid = proofs_deadline(&m->session->proofs, now) !=
                                                  DEADLINE_NONE,
                                         .suspect = m->suspect,
                                         .same = ev->rc == STORE_OK && has_newest_data(m, ev)};

    member_keep(m, ev);
    member_step(&m->machine, ev, &moment, out);
    publish(m);
}

static char *member_driver_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(member_driven(d)->node);
}

/* In a party a name that nobody had yet, for each session: while the session lives, a node of the
 * last name may stand that could not be seen. The id otherwise. */
static void member_name(struct driver *d, unsigned node)
{
    zkl_member *m = member_driven(d);
    char *id, *name;

    (void)node;
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

static char *member_driver_data(struct driver *d, unsigned node, int *ret_length)
{
    gsize size;
    const void *data = g_bytes_get_data(member_driven(d)->data, &size);

    if (node == MEMBER_NODE_UNWRITTEN)
        return NULL;
    *ret_length = (int)size;
    return g_memdup2(data, size);
}

/* Keeps which session has the id, if it is not ours. */
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

static void member_driver_tell(struct driver *d, const struct machine_action *a)
{
    zkl_member *m = member_driven(d);

    if (a->verdict == MEMBER_TELL_REFUSED)
        denial_fill(m->session, &m->refusal, call_error(a->rc), session_path(m->session, m->node));
    else if (a->verdict == MEMBER_TELL_ORPHAN)
        keep_orphan(m);
    else if (a->verdict == MEMBER_TELL_OVER)
        retire(m);
    else
        member_tell(m, a);
}

static void member_driver_ref(struct driver *d)
{
    member_ref(member_driven(d));
}

static void member_driver_unref(struct driver *d)
{
    member_unref(member_driven(d));
}

static const struct driver_ops member_driver = {.step = member_driver_step,
                                                .path = member_driver_path,
                                                .name = member_name,
                                                .data = member_driver_data,
                                                .tell = member_driver_tell,
                                                .ref = member_driver_ref,
                                                .unref = member_driver_unref};

void member_happens(zkl_member *m, unsigned kind)
{
    driver_hear(&m->driver, (struct machine_event){.kind = kind});
}

void member_quit(zkl_member *m)
{
    m->left = true;
    member_end_hopes(m);
    member_happens(m, MEMBER_EV_LEAVE);
}

uint32_t member_next_generation(const zkl_member *m)
{
    return m->machine.wanted + 1;
}

/* ---- the handle ---- */

static const char *check_id(const char *id)
{
    if (!id || !*id || strnlen(id, ID_MAX + 1) > ID_MAX)
        return "id must have 1 to 255 bytes";
    if (!g_utf8_validate(id, -1, NULL))
        return "id is not UTF-8";
    if (strchr(id, '/') || strcmp(id, ".") == 0 || strcmp(id, "..") == 0)
        return "id is no name of a node";
    for (const char *at = id; *at; at = g_utf8_next_char(at))
        if (g_unichar_iscntrl(g_utf8_get_char(at)))
            return "id has a control character";
    return NULL;
}

const char *member_check_data(const void *data, size_t size, zkl_member_layout layout)
{
    if (size > DATA_MAX)
        return "data has more than 65536 bytes";
    if (size > 0 && !data)
        return "data is NULL and size is not 0";
    if (layout == ZKL_MEMBER_PARTY && size > 0)
        return "a member of a party has no data";
    return NULL;
}

static const char *check(const zkl_member_options *o, const char *id, const void *data, size_t size)
{
    const char *wrong = check_id(id);

    if (wrong)
        return wrong;
    if (o->layout != ZKL_MEMBER_GROUP && o->layout != ZKL_MEMBER_PARTY)
        return "layout is none of zkl_member_layout";
    if (o->parents != ZKL_PARENTS_CONTAINER && o->parents != ZKL_PARENTS_PERSISTENT)
        return "parents is none of zkl_parents";
    return member_check_data(data, size, o->layout);
}

static zkl_member *member_new(zkl_session *s, const char *path, const char *id,
                              const zkl_member_options *o)
{
    zkl_member *m = g_new0(zkl_member, 1);

    m->refs = 1;
    m->generation = s->generation;
    m->session = session_ref(s);
    m->options = *o;
    m->directory = g_strconcat(s->chroot, path, NULL);
    m->id = g_strdup(id);
    m->link.data = m;
    driver_init(&m->driver, &member_driver, s,
                o->parents == ZKL_PARENTS_CONTAINER ? STORE_CONTAINER : STORE_PERSISTENT);
    member_name(&m->driver, MEMBER_NODE);
    standing_set(&m->standing, ZKL_LOST, (struct instant){.boot = 0});
    return m;
}

/* Behind one of the same node that leaves. */
static int enter(zkl_member *m)
{
    zkl_session *s = m->session;
    const char *path = session_path(s, m->node);

    if (s->closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    const zkl_member *before = members_find(s, m->node);
    for (const zkl_member *i = before; i; i = i->behind)
        if (!i->left)
            return error_set(ZKL_EBUSY, path, "%s: a member of this session has this id", path);
    member_ref(m);
    members_add(m);
    if (s->refused) {
        member_happens(m, MACHINE_EV_OVER);
        return 0;
    }
    incarnation_warm(s);
    if (!before)
        begin(m);
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
        wrong = check(&o, id, data, size);
    if (wrong)
        return error_set(ZKL_EINVAL, path, "zkl_member_join: %s", wrong);
    zkl_member *m = member_new(s, path, id, &o);
    m->data = o.layout == ZKL_MEMBER_PARTY ? g_bytes_new(id, strlen(id)) : g_bytes_new(data, size);
    session_lock(s);
    code = enter(m);
    if (code)
        member_unref(m);
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
    member_unref(m);
    session_unlock(s);
    session_unref(s);
}
