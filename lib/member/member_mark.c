/* Marks: an ephemeral node beside each member's own, named by its id and czxid, which says whose
 * process it is. Who wants the id of a dead process deletes both nodes at once, or none. */
#include "lib/base/log.h"
#include "lib/session/denial.h"
#include "lib/session/parents.h"
#include "member.h"
#include "member_session.h"

static char *mark_path(const zkl_member *m, uint64_t czxid)
{
    return g_strdup_printf("%s/%s-%016" G_GINT64_MODIFIER "x", m->owners, m->id, (gint64)czxid);
}

/* ---- the own ---- */

struct mark_wish {
    zkl_member *member;
    uint64_t czxid;
    bool again; /* there are parents now */
};

static void ask_mark(zkl_member *m, uint64_t czxid, bool again);

static void end_wish(struct mark_wish *wish)
{
    member_unref(wish->member);
    g_free(wish);
}

static void marked(const struct mark_wish *wish, bool stands)
{
    member_happens(
        wish->member,
        (struct member_event){.kind = MEMBER_EV_MARKED, .czxid = wish->czxid, .gone = !stands});
}

/* Its node may have gone meanwhile, and nobody would delete the mark. */
static bool is_wanted(const struct mark_wish *wish)
{
    const struct member *machine = &wish->member->machine;

    return machine->marks && machine->czxid == wish->czxid;
}

static void on_parents(void *context, enum store_rc rc)
{
    struct mark_wish *wish = context;

    if (rc == STORE_OK && is_wanted(wish))
        ask_mark(wish->member, wish->czxid, true);
    else if (rc != STORE_GONE)
        marked(wish, false);
    end_wish(wish);
}

static void on_marked(struct request *r, const struct store_reply *reply)
{
    struct mark_wish *wish = r->context;
    zkl_session *s = wish->member->session;

    if (reply->rc == STORE_NONODE && !wish->again) {
        parents_make(s, r->what.path, STORE_CONTAINER, on_parents, wish);
        return;
    }
    if (reply->rc == STORE_NOAUTH) {
        const char *path = session_path(s, r->what.path);
        char *text = denial_text(s, ZKL_EACCES, path);
        log_line(s->log, ZKL_LOG_INFO, "mark-refused", path,
                 "%s: cannot create it, so nobody can see that member's process die: %s",
                 r->what.path, text);
        g_free(text);
    }
    if (reply->rc != STORE_GONE)
        marked(wish, reply->rc == STORE_OK || reply->rc == STORE_UNKNOWN);
    end_wish(wish);
}

/* Sent once: one that came late would stand when its member is gone. */
static void ask_mark(zkl_member *m, uint64_t czxid, bool again)
{
    struct mark_wish *wish = g_new(struct mark_wish, 1);
    struct request *r = request_new(STORE_CREATE, mark_path(m, czxid), on_marked, wish);
    char text[PROCESS_ID_TEXT];
    size_t length = process_id_write(&m->self, text);

    *wish = (struct mark_wish){m, czxid, again};
    member_ref(m);
    r->once = true;
    r->what.mode = STORE_EPHEMERAL;
    r->what.data = g_memdup2(text, length);
    r->what.length = (int)length;
    request_send(m->session, r);
}

/* ---- behind a mark ---- */

struct fenced {
    zkl_member *member;
    char *mark, *node;
    GBytes *data;
    struct store_change changes[2];
    void (*done)(zkl_member *m, const struct request *r, enum store_rc rc);
};

static void on_fenced(struct request *r, const struct store_reply *reply)
{
    struct fenced *f = r->context;

    if (reply->rc == STORE_NONODE && reply->failed == 0)
        member_answer(f->member, r->tag, MEMBER_EV_UNMARKED);
    else
        f->done(f->member, r, reply->rc);
    g_bytes_unref(f->data);
    g_free(f->mark);
    g_free(f->node);
    member_unref(f->member);
    g_free(f);
}

struct request *member_fenced(zkl_member *m, enum store_kind kind, uint64_t czxid, int32_t version,
                              void (*done)(zkl_member *m, const struct request *r,
                                           enum store_rc rc))
{
    struct fenced *f = g_new0(struct fenced, 1);
    gsize size;

    *f = (struct fenced){.member = m,
                         .mark = mark_path(m, czxid),
                         .node = g_strdup(m->node),
                         .data = g_bytes_ref(m->data),
                         .done = done};
    f->changes[0] = (struct store_change){.kind = kind == STORE_DELETE ? STORE_DELETE : STORE_GET,
                                          .path = f->mark,
                                          .length = -1,
                                          .version = -1};
    f->changes[1] =
        (struct store_change){.kind = kind, .path = f->node, .length = -1, .version = version};
    if (kind == STORE_SET) {
        f->changes[1].data = g_bytes_get_data(f->data, &size);
        f->changes[1].length = (int)size;
    }
    member_ref(m);
    struct request *r = request_new(STORE_MULTI, g_strdup(m->node), on_fenced, f);
    r->what.changes = f->changes;
    r->what.count = G_N_ELEMENTS(f->changes);
    return r;
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

static void on_claimed(zkl_member *m, const struct request *r, enum store_rc rc)
{
    if (rc != STORE_GONE)
        member_answer(m, r->tag, MEMBER_EV_CLAIMED);
}

static void ask_claim(zkl_member *m, const struct member_action *a)
{
    struct request *r = member_fenced(m, STORE_DELETE, a->czxid, -1, on_claimed);

    r->tag = a->tag;
    request_send(m->session, r);
}

void member_ask_mark(zkl_member *m, const struct member_action *a)
{
    switch (a->kind) {
    case MEMBER_ACT_MARK:
        ask_mark(m, a->czxid, false);
        break;
    case MEMBER_ACT_UNMARK:
        request_delete(m->session, mark_path(m, a->czxid)); /* logged, and tried again and again */
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
