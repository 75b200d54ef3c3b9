/* Members: the handle, and what it hears of its session. */
#include "member.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/base/options.h"
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
    member_happens(m, (struct member_event){.kind = MEMBER_EV_BEGIN});
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

static void perform(zkl_member *m, const struct member_action *a)
{
    if (a->kind == MEMBER_ACT_TELL)
        member_tell(m, a);
    else if (a->kind == MEMBER_ACT_OVER)
        retire(m);
    else
        member_ask(m, a);
}

void member_happens(zkl_member *m, struct member_event ev)
{
    const struct instant now = clock_now();
    struct member_actions actions;

    member_ref(m);
    ev.now = now.boot;
    ev.valid = proofs_deadline(&m->session->proofs, now) != DEADLINE_NONE;
    ev.suspect = m->suspect;
    member_step(&m->machine, &ev, &actions);
    publish(m);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(m, &actions.list[i]);
    member_unref(m);
}

void member_quit(zkl_member *m)
{
    m->left = true;
    member_end_hopes(m);
    member_happens(m, (struct member_event){.kind = MEMBER_EV_LEAVE});
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
    member_name(m);
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
        member_happens(m, (struct member_event){.kind = MEMBER_EV_STOP});
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
