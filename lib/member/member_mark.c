/* Marks: an ephemeral node beside each member's own, named by its id and czxid, which says whose
 * process it is. Who wants the id of a dead process deletes both nodes at once, or none. */
#include "lib/base/log.h"
#include "lib/session/parents.h"
#include "member.h"

static char *mark_path(const zkl_member *m, uint64_t czxid)
{
    return g_strdup_printf("%s/%s-%016" G_GINT64_MODIFIER "x", m->owners, m->id, (gint64)czxid);
}

static bool has_marks(const zkl_member *m)
{
    return m->options.layout == ZKL_MEMBER_GROUP;
}

/* ---- the own ---- */

static void ask_mark(zkl_member *m, char *path, bool again);

struct mark_wish {
    zkl_member *member;
    char *path;
};

static void on_parents(void *context, enum store_rc rc)
{
    struct mark_wish *wish = context;
    zkl_member *m = wish->member;

    if (rc == STORE_OK && m->machine.marked)
        ask_mark(m, g_steal_pointer(&wish->path), true);
    g_free(wish->path);
    g_free(wish);
    member_unref(m);
}

static void ask_parents(zkl_member *m, const char *path)
{
    struct mark_wish *wish = g_new(struct mark_wish, 1);

    *wish = (struct mark_wish){m, g_strdup(path)};
    member_ref(m);
    parents_make(m->session, path, STORE_CONTAINER, on_parents, wish);
}

static void on_marked(struct request *r, const struct store_reply *reply)
{
    zkl_member *m = r->context;

    if (reply->rc == STORE_NONODE && r->tag == 0)
        ask_parents(m, r->what.path);
    else if (reply->rc == STORE_NOAUTH)
        log_line(m->session->log, ZKL_LOG_INFO,
                 "%s: cannot create it, so nobody can see that "
                 "member's process die: %s",
                 r->what.path, zkl_strerror(ZKL_EACCES));
    member_unref(m);
}

/* Sent once: one that came late would stand when its member is gone. */
static void ask_mark(zkl_member *m, char *path, bool again)
{
    char text[PROCESS_ID_TEXT];
    size_t length = process_id_write(&m->self, text);
    struct request *r = member_request(m, STORE_CREATE, path, on_marked, again);

    r->once = true;
    r->what.mode = STORE_EPHEMERAL;
    r->what.data = g_memdup2(text, length);
    r->what.length = (int)length;
    request_send(m->session, r);
}

static void on_unmarked(struct request *r, const struct store_reply *reply)
{
    (void)reply;
    member_unref(r->context);
}

/* ---- that of another ---- */

static bool is_dead(const zkl_member *m)
{
    return m->other.pid != 0 &&
           (member_had(m, m->other_session) || process_is_dead(&m->other, &m->self));
}

static void judged(zkl_member *m, uint32_t tag, bool dead)
{
    member_happens(m, (struct member_event){.kind = MEMBER_EV_JUDGED, .tag = tag, .dead = dead});
}

static void on_mark_read(struct request *r, const struct store_reply *reply)
{
    zkl_member *m = r->context;
    struct process_id other;

    if (r->tag == m->machine.tag && reply->rc == STORE_OK &&
        reply->ephemeral_owner == m->other_session && reply->data &&
        process_id_read(reply->data, (size_t)MAX(reply->length, 0), &other))
        m->other = other;
    if (reply->rc != STORE_GONE)
        judged(m, r->tag, is_dead(m));
    member_unref(m);
}

static void on_claimed(struct request *r, const struct store_reply *reply)
{
    zkl_member *m = r->context;

    if (reply->rc != STORE_GONE)
        member_answer(m, r->tag, MEMBER_EV_CLAIMED);
    member_unref(m);
}

static void ask_claim(zkl_member *m, const struct member_action *a)
{
    char *mark = mark_path(m, a->czxid);
    struct request *r = member_request(m, STORE_MULTI, g_strdup(m->node), on_claimed, a->tag);

    m->claim[0] =
        (struct store_change){.kind = STORE_DELETE, .path = mark, .length = -1, .version = -1};
    m->claim[1] =
        (struct store_change){.kind = STORE_DELETE, .path = m->node, .length = -1, .version = -1};
    g_free(m->claimed_mark);
    m->claimed_mark = mark;
    r->what.changes = m->claim;
    r->what.count = G_N_ELEMENTS(m->claim);
    request_send(m->session, r);
}

void member_ask_mark(zkl_member *m, const struct member_action *a)
{
    switch (a->kind) {
    case MEMBER_ACT_MARK:
        if (has_marks(m))
            ask_mark(m, mark_path(m, a->czxid), false);
        break;
    case MEMBER_ACT_UNMARK:
        if (has_marks(m))
            request_send(m->session,
                         member_request(m, STORE_DELETE, mark_path(m, a->czxid), on_unmarked, 0));
        break;
    case MEMBER_ACT_JUDGE:
        request_send(m->session,
                     member_request(m, STORE_GET, mark_path(m, a->czxid), on_mark_read, a->tag));
        break;
    default:
        ask_claim(m, a);
        break;
    }
}
