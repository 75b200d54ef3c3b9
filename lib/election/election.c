/* An election's handle: how it is made and freed, how its term is given up, what it says. */
#include <string.h>

#include "election_state.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/lock/grant.h"
#include "lib/lock/locks.h"
#include "lib/lock/release.h"
#include "lib/session/participant.h"
#include "observer.h"
#include "recipes/name.h"

enum { ID_MAX_BYTES = 1024 };

/* ---- new ---- */

static const char *check_options(const zkl_election_options *o)
{
    if ((unsigned)o->layout > ZKL_LAYOUT_KAZOO)
        return "layout is none of zkl_layout";
    if (o->layout == ZKL_LAYOUT_KAZOO && o->priority > 0)
        return "kazoo's layout has no priorities";
    if (o->parents != ZKL_PARENTS_CONTAINER && o->parents != ZKL_PARENTS_PERSISTENT)
        return "parents is none of zkl_parents";
    if ((o->requeue | o->yield) & ~1)
        return "requeue and yield must be 0 or 1";
    if (o->priority < 0 || o->priority > NAME_PRIORITY_MAX)
        return "priority must be 0 to 999";
    return NULL;
}

static const char *check_id(const char *id)
{
    if (id && strnlen(id, ID_MAX_BYTES + 1) > ID_MAX_BYTES)
        return "it is longer than 1024 bytes";
    if (id && !g_utf8_validate(id, -1, NULL))
        return "it is not UTF-8";
    return NULL;
}

/* All elections of a session that are not freed. */
struct elections {
    struct participant participant;
    GQueue list;
};

static void on_up(struct participant *p)
{
    for (GList *l = ((struct elections *)p)->list.head; l; l = l->next)
        children_watch_begin_all(&((zkl_election *)l->data)->observers);
}

static void on_rewound(struct participant *p)
{
    for (GList *l = ((struct elections *)p)->list.head; l; l = l->next)
        observer_rewind_all(&((zkl_election *)l->data)->observers);
}

static void on_replaced(struct participant *p)
{
    for (GList *l = ((struct elections *)p)->list.head; l; l = l->next)
        candidacy_session(l->data, false);
}

static void on_refused(struct participant *p)
{
    for (GList *l = ((struct elections *)p)->list.head; l; l = l->next)
        candidacy_session(l->data, true);
}

/* Campaigns hear of it from their contenders. */
static void on_closed(struct participant *p)
{
    for (GList *l = ((struct elections *)p)->list.head; l; l = l->next) {
        zkl_election *e = l->data;
        if (e->candidacy)
            candidacy_stop(e, true);
        children_watch_stop_all(&e->observers);
    }
}

static const struct participant_ops participant = {.on = {[NEWS_UP] = on_up,
                                                          [NEWS_REPLACED] = on_replaced,
                                                          [NEWS_REWOUND] = on_rewound,
                                                          [NEWS_REFUSED] = on_refused,
                                                          [NEWS_CLOSED] = on_closed}};

static GQueue *elections_of(zkl_session *s)
{
    locks_of(s); /* campaigns hear of an end before their elections do */
    return &((struct elections *)participant_of(s, &participant, sizeof(struct elections)))->list;
}

static zkl_election *election_new(zkl_session *s, const char *path, const char *id,
                                  const zkl_election_options *o)
{
    zkl_election *e = g_new0(zkl_election, 1);

    e->refs = 1;
    e->session = session_ref(s);
    e->directory = path_full(s->chroot, path);
    e->id = id ? g_ref_string_new(id) : NULL;
    e->options = *o;
    e->rule = o->layout == ZKL_LAYOUT_LATCH   ? RULE_LATCH
              : o->layout == ZKL_LAYOUT_KAZOO ? RULE_OWN_KAZOO
                                              : RULE_SELECTOR;
    e->link.data = e;
    return e;
}

int zkl_election_new(zkl_election **ret, zkl_session *s, const char *path, const char *candidate_id,
                     const zkl_election_options *options)
{
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    int code = session_check(s);
    const char *wrong;

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_election_new: ret is NULL");
    if ((wrong = options_take(&o, sizeof o, options)))
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    if ((code = path_error(s->chroot, path)))
        return code;
    if ((wrong = check_id(candidate_id)))
        return error_set(ZKL_EINVAL, path, "candidate_id: %s", wrong);
    if ((wrong = check_options(&o)))
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    session_lock(s);
    if (s->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        *ret = election_new(s, path, candidate_id, &o);
        g_queue_push_tail_link(elections_of(s), &(*ret)->link);
    }
    session_unlock(s);
    return code;
}

/* ---- ending ---- */

/* What there is of a term or of a way to one; for zkl_election_resign() and _free(). */
static int give_up(zkl_election *e, int code, const char *text)
{
    int answer = ZKL_EPERM;

    if (e->candidacy)
        answer = candidacy_stop(e, false);
    if (e->campaign) {
        campaign_abort(e->campaign, code, text);
        answer = 0;
    }
    if (e->grant) {
        zkl_state state = zkl_grant_state(e->grant);
        if (state < ZKL_LOST && grant_give_back(e->grant))
            answer = 0;
        else if (state != ZKL_RELEASED)
            answer = ZKL_ELOST;
        election_forget(e);
    }
    return answer;
}

int zkl_election_resign(zkl_election *e)
{
    int code = election_check(e, true);
    const char *path;

    if (code)
        return code;
    path = election_path(e);
    session_lock(e->session);
    code = give_up(e, ZKL_ECANCELED, "resigned");
    session_unlock(e->session);
    if (code)
        error_set(code, path, "%s: %s", path,
                  code == ZKL_ELOST ? "the term was lost" : "neither leading nor campaigning");
    return code;
}

void zkl_election_free(zkl_election *e)
{
    zkl_session *s;

    if (!e || fork_is_child(e->session->generation))
        return;
    s = session_ref(e->session);
    session_lock(s);
    g_queue_unlink(elections_of(s), &e->link);
    give_up(e, ZKL_ECLOSED, "the election was freed");
    children_watch_stop_all(&e->observers);
    election_unref(e);
    session_unlock(s);
    session_unref(s);
}

/* ---- asking ---- */

static void describe(const zkl_election *e, zkl_election_status *ret)
{
    ret->ahead = -1;
    ret->terms = e->terms;
    ret->last = e->last;
    if (election_leads(e)) {
        ret->candidacy = ZKL_CANDIDACY_LEADING;
        ret->token = zkl_grant_token(e->grant);
    } else if (e->candidacy) {
        candidacy_describe(e, ret);
    } else if (e->campaign) {
        ret->candidacy = ZKL_CANDIDACY_QUEUED;
        ret->ahead = campaign_ahead(e->campaign);
    } else {
        election_blame_end(e, &ret->last);
    }
}

int zkl_election_get_status(zkl_election *e, zkl_election_status *ret)
{
    zkl_election_status status = {.size = 0};
    int code = election_check(e, false);

    if (code)
        return code;
    if (!ret || ret->size < sizeof status)
        return error_set(ZKL_EINVAL, election_path(e),
                         "zkl_election_get_status: ret is NULL, or ret->size is too small");
    session_lock(e->session);
    describe(e, &status);
    session_unlock(e->session);
    status.size = sizeof status;
    memcpy(ret, &status, sizeof status);
    return 0;
}
