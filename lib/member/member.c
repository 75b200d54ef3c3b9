/* Members: the handle, and what it hears of its session. */
#include "member.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/session/incarnation.h"
#include "lib/session/participant.h"

enum { ID_MAX = 255, DATA_MAX = 64 * 1024, FORMER_MAX = 64 };

#define LOOK_EVERY_NS (1000 * CLOCK_MS)

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
    g_free(m->owners);
    g_free(m->id);
    g_free(m->node);
    g_free(m);
}

/* ---- all of a session that are not over ---- */

struct members {
    struct participant participant;
    GQueue list; /* of zkl_member */
    GArray *had; /* of int64_t: the ids of the present session and of those before */
};

static void note_session(struct members *all)
{
    const int64_t id = all->participant.session->id;

    if (id == 0 || (all->had->len > 0 && g_array_index(all->had, int64_t, all->had->len - 1) == id))
        return;
    if (all->had->len == FORMER_MAX)
        g_array_remove_index(all->had, 0);
    g_array_append_val(all->had, id);
}

static bool is_busy(const struct participant *p)
{
    return ((const struct members *)p)->list.length > 0;
}

/* Without a deadline ahead others may see it gone already: nothing keeps the session then. */
static bool holds(const struct participant *p)
{
    if (!proofs_valid(&p->session->proofs, clock_now()))
        return false;
    for (const GList *l = ((const struct members *)p)->list.head; l; l = l->next)
        if (((const zkl_member *)l->data)->machine.state == MEMBER_IN)
            return true;
    return false;
}

/* Stepping one may end others: each is held until its turn. */
static void step_all(struct participant *p, enum member_event_kind kind)
{
    const GQueue *list = &((struct members *)p)->list;
    guint n = 0, count = list->length;
    zkl_member **all = g_new(zkl_member *, count);

    for (GList *l = list->head; l; l = l->next) {
        all[n] = l->data;
        member_ref(all[n++]);
    }
    for (n = 0; n < count; n++) {
        member_happens(all[n], (struct member_event){.kind = kind});
        member_unref(all[n]);
    }
    g_free(all);
}

static void set_suspect(struct participant *p, bool suspect)
{
    for (GList *l = ((struct members *)p)->list.head; l; l = l->next)
        ((zkl_member *)l->data)->suspect = suspect;
}

static void on_up(struct participant *p)
{
    note_session((struct members *)p);
}

static void on_deadline(struct participant *p)
{
    step_all(p, MEMBER_EV_STANDING);
}

static void on_proved(struct participant *p)
{
    set_suspect(p, false);
    step_all(p, MEMBER_EV_STANDING);
}

static void on_suspect(struct participant *p)
{
    set_suspect(p, true);
    step_all(p, MEMBER_EV_STANDING);
}

static void on_replaced(struct participant *p)
{
    set_suspect(p, false);
    step_all(p, MEMBER_EV_REPLACED);
}

static void on_over(struct participant *p)
{
    step_all(p, MEMBER_EV_STOP);
}

static void free_members(struct participant *p)
{
    g_array_unref(((struct members *)p)->had);
    g_free((struct members *)p);
}

static const struct participant_ops participant = {.is_busy = is_busy,
                                                   .holds = holds,
                                                   .on = {[NEWS_UP] = on_up,
                                                          [NEWS_PROVED] = on_proved,
                                                          [NEWS_DEADLINE] = on_deadline,
                                                          [NEWS_SUSPECT] = on_suspect,
                                                          [NEWS_LAPSED] = on_deadline,
                                                          [NEWS_REPLACED] = on_replaced,
                                                          [NEWS_REFUSED] = on_over,
                                                          [NEWS_CLOSED] = on_over},
                                                   .free = free_members};

static struct members *members_of(zkl_session *s)
{
    struct members *found = (struct members *)participant_find(s, &participant);

    if (!found) {
        found = g_new0(struct members, 1);
        found->had = g_array_new(FALSE, FALSE, sizeof(int64_t));
        participant_add(s, &found->participant, &participant);
        note_session(found);
    }
    return found;
}

bool member_had(const zkl_member *m, int64_t session_id)
{
    const GArray *had = members_of(m->session)->had;

    for (guint i = 0; i < had->len; i++)
        if (g_array_index(had, int64_t, i) == session_id)
            return session_id != m->session->id;
    return false;
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

static void begin_next(zkl_session *s, const char *node);

static void retire(zkl_member *m)
{
    zkl_session *s = m->session;

    m->left = true;
    publish(m);
    g_queue_unlink(&members_of(s)->list, &m->link);
    member_tell_left(m);
    s->orphans -= m->orphan;
    if (!s->closing)
        begin_next(s, m->node);
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
    ev.valid = proofs_valid(&m->session->proofs, now);
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

static void begin(zkl_member *m)
{
    member_happens(m, (struct member_event){.kind = MEMBER_EV_BEGIN});
}

/* The first of the session with that node; NULL: there is none. */
static zkl_member *find(zkl_session *s, const char *node)
{
    for (GList *l = members_of(s)->list.head; l; l = l->next)
        if (strcmp(((zkl_member *)l->data)->node, node) == 0)
            return l->data;
    return NULL;
}

static void begin_next(zkl_session *s, const char *node)
{
    zkl_member *next = find(s, node);

    if (next)
        begin(next);
}

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
    m->owners = g_strconcat(m->directory, "-__owners__", NULL);
    m->id = g_strdup(id);
    m->link.data = m;
    m->machine.look_every = LOOK_EVERY_NS;
    m->machine.unmarked = o->layout == ZKL_MEMBER_PARTY;
    process_self(&m->self);
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
    struct members *all = members_of(s);
    const zkl_member *before = find(s, m->node);
    for (GList *l = all->list.head; l; l = l->next)
        if (strcmp(((zkl_member *)l->data)->node, m->node) == 0 && !((zkl_member *)l->data)->left)
            return error_set(ZKL_EBUSY, path, "%s: a member of this session has this id", path);
    member_ref(m);
    g_queue_push_tail_link(&all->list, &m->link);
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
