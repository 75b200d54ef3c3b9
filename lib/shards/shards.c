/* The shards of a program: a member of a group, an observer of it, and a contender for each shard
 * that is the program's by the plan. recipes/shard.h decides about each shard, as it does for the
 * command. docs/design/shards.md has the argument.
 *
 * Functions in tables are called with the monitor held, and so is what they call. The functions of
 * the interface are called without it. So are shards_on_member(), shards_on_view() and
 * shards_deliver(), which run on the callback thread. */
#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/contender/claim.h"
#include "lib/lock/op.h"
#include "lib/session/call.h"
#include "recipes/shard.h"
#include "recipes/shards.h"

/* A slot is what the program has of one shard. recipes/shard.h has its states (OUT, SEEKING …). */
struct shards_slot {
    zkl_shards *all;
    size_t number;
    struct shard_plan plan;
    char *directory;          /* GRefString: of the lock; NULL: the shard was never sought */
    struct claim claim;       /* from SEEKING on, until the attempt fails or the grant ends */
    struct stats_waits waits; /* of the attempt */
    int64_t entered;          /* CLOCK_BOOTTIME, ns: when that began */
    zkl_grant *grant;         /* a reference, until the user has released it; NULL: none */
    int trouble;              /* the code of the last error that was told; 0: it has passed */
    bool owned;               /* by the last view the shard is ours */
    bool over;                /* the grant has ended, and the user has not released it */
    bool wanted, waits_now, revoked; /* as in struct shard_facts */
    int64_t looked_at;               /* ms */
    int64_t look_from; /* ms: when the look under way began; 0: none is. Others that are told of
                          without a look may be gone again */
};

struct zkl_shards {
    /* set at the start: */
    zkl_session *session;
    zkl_shards_fn fn;
    void *fn_data;
    char *path, *group, *id; /* the first two without the chroot */
    zkl_parents parents;
    size_t count;
    zkl_member *member; /* these two before .started */
    zkl_watch *watch;
    /* guarded by the monitor: */
    unsigned refs;           /* the user's; one until STOPPED is queued; that of the member until it
                                has left; each message; each slot that is not OUT; each grant that is
                                watched */
    GList link;              /* in the session's list, from .started to .stopped */
    bool started;            /* zkl_shards_start() has succeeded */
    bool freed;              /* the user has freed the handle: all shards are given up */
    bool stopped;            /* STOPPED was queued: nothing is told or begun any more */
    uint64_t joined;         /* the token of our membership; 0: others may think that we are gone */
    uint64_t seen;           /* the token of our id in the last view; 0: it is not there */
    int64_t confirmed_since; /* ms: when it changed last whether the view shows us as we joined */
    size_t busy;             /* how many slots are not OUT */
    struct timer timer;      /* when the first slot is due */
    struct shards_slot slots[];
};

/* ---- memory ---- */

static void shards_unref(zkl_shards *all)
{
    zkl_session *s = all->session;

    if (--all->refs > 0)
        return;
    for (size_t k = 0; k < all->count; k++)
        if (all->slots[k].directory)
            g_ref_string_release(all->slots[k].directory);
    g_free(all->path);
    g_free(all->group);
    g_free(all->id);
    g_free(all);
    session_unref(s);
}

/* Gives up a reference without the monitor held. */
static void shards_let_go(zkl_shards *all)
{
    zkl_session *s = session_ref(all->session);

    session_lock(s);
    shards_unref(all);
    session_unlock(s);
    session_unref(s);
}

/* ---- telling ---- */

struct shards_message {
    zkl_shards *all;
    struct shards_slot *slot; /* GRANTED, ASKED; NULL otherwise */
    zkl_shards_event event;
    zkl_grant *grant; /* a reference: that of the slot when the message was queued; or NULL */
    zkl_error error;  /* .code 0: none */
};

static void shards_free_message(struct shards_message *m)
{
    if (m->grant)
        grant_unref(m->grant);
    shards_unref(m->all);
    g_free(m);
}

static void shards_deliver(void *data)
{
    struct shards_message *m = data;
    zkl_shards *all = m->all;
    zkl_session *s = session_ref(all->session);
    const zkl_shards_news news = {.shard = m->slot ? m->slot->number : 0,
                                  .grant = m->event == ZKL_SHARDS_GRANTED ? m->grant : NULL,
                                  .err = m->error.code ? &m->error : NULL};

    session_lock(s);
    /* nobody is asked to give up what was given up */
    const bool tells = m->event != ZKL_SHARDS_ASKED || m->slot->grant == m->grant;
    if (news.grant)
        grant_own(grant_ref(m->grant));
    session_unlock(s);
    if (tells)
        all->fn(all, m->event, &news, all->fn_data);
    session_lock(s);
    shards_free_message(m);
    session_unlock(s);
    session_unref(s);
}

/* Queues an event. slot and error may be NULL. */
static void shards_push(zkl_shards *all, zkl_shards_event event, struct shards_slot *slot,
                        const zkl_error *error)
{
    struct shards_message *m = g_new0(struct shards_message, 1);

    all->refs++;
    *m = (struct shards_message){.all = all, .slot = slot, .event = event};
    if (slot)
        m->grant = grant_ref(slot->grant);
    if (error)
        m->error = *error;
    if (!callbacks_push(all->session->callbacks, shards_deliver, m))
        shards_free_message(m);
}

/* Tells an error that is in the way; none if all is over, which has a reason of its own. */
static void shards_fail(zkl_shards *all, const zkl_error *error)
{
    if (!all->stopped && error->code != ZKL_ECLOSED && error->code != ZKL_EAUTH)
        shards_push(all, ZKL_SHARDS_FAILED, NULL, error);
}

static GQueue *shards_list_of(zkl_session *s);

/* Ends all with STOPPED. code 0: the user has freed the handle, and released all grants. */
static void shards_stop(zkl_shards *all, int code)
{
    zkl_error why = {.code = 0};

    if (all->stopped)
        return;
    all->stopped = true;
    timers_cancel(&all->timer);
    g_queue_unlink(shards_list_of(all->session), &all->link);
    if (code)
        error_fill(&why, code, all->path, "%s: %s", all->path, zkl_strerror(code));
    shards_push(all, ZKL_SHARDS_STOPPED, NULL, code ? &why : NULL);
    shards_unref(all);
}

/* ---- what is known ---- */

static int64_t shards_now(void)
{
    return clock_boot() / CLOCK_MS;
}

static bool shards_confirmed(const zkl_shards *all)
{
    return all->joined != 0 && all->joined == all->seen;
}

/* Sets the token of our membership, and of our id in the view. */
static void shards_set_tokens(zkl_shards *all, uint64_t joined, uint64_t seen)
{
    const bool before = shards_confirmed(all);

    all->joined = joined;
    all->seen = seen;
    if (shards_confirmed(all) != before)
        all->confirmed_since = shards_now();
}

/* Returns until when nobody can have seen us gone; now: somebody may have. */
static int64_t shards_member_until(const zkl_shards *all, int64_t now)
{
    const struct proofs *p = &all->session->proofs;
    const struct instant at = clock_now();

    if (proofs_deadline(p, at) == DEADLINE_NONE)
        return now;
    return now + instant_left(at, p->deadline) / CLOCK_MS;
}

/* Returns the facts that all slots have in common. */
static struct shard_facts shards_facts(const zkl_shards *all)
{
    const int64_t now = shards_now();

    return (struct shard_facts){.now = now,
                                .confirmed_since = all->confirmed_since,
                                .member_until = shards_member_until(all, now),
                                .drain_ms = SHARD_DRAIN_FOREVER,
                                .doubt_ms = all->session->timeout_ms,
                                .confirmed = shards_confirmed(all),
                                .stop = all->freed};
}

/* ---- a slot: what the plan asks for ---- */

/* Steps the plan of a slot with the present facts, and does what the plan says. */
static void slot_look(struct shards_slot *k, const struct shard_facts *common);

static void slot_look_now(struct shards_slot *k)
{
    const struct shard_facts common = shards_facts(k->all);

    slot_look(k, &common);
}

/* Ends what slot_seek() began, and goes on: the shard may be sought again, or was the last one of a
 * handle that was freed. failed: as for shard_ended(). */
static void slot_end(struct shards_slot *k, bool failed)
{
    zkl_shards *all = k->all;

    all->busy--;
    shard_ended(&k->plan, failed, shards_now());
    slot_look_now(k);
    if (all->started && all->freed && all->busy == 0)
        shards_stop(all, 0);
    shards_unref(all);
}

static void slot_on_news(void *context, enum contender_news news);
static void slot_on_decided(void *context, const zkl_error *error);

/* Begins to acquire the lock. */
static void slot_seek(struct shards_slot *k)
{
    zkl_shards *all = k->all;
    zkl_session *s = all->session;
    char *name = g_ref_string_new(all->id);

    all->busy++;
    all->refs++;
    k->wanted = k->waits_now = k->revoked = k->over = false;
    k->looked_at = k->look_from = 0;
    if (!k->directory) {
        char *path = g_strdup_printf("%s/shards/%zu", all->path, k->number);
        k->directory = path_full(s->chroot, path);
        g_free(path);
    }
    const struct contender_spec spec = {.directory = k->directory,
                                        .payload = name,
                                        .rule = RULE_LOCK,
                                        .parents = all->parents,
                                        .hints = true,
                                        .watch_children = true,
                                        .watch_own = true,
                                        .news = slot_on_news};
    k->entered = clock_boot();
    stats_waits_add(s, &k->waits, k->directory);
    stats_wait_begin(s, &k->waits, k->entered);
    claim_enter(&k->claim, s, &spec, slot_on_decided, k);
    g_ref_string_release(name);
}

/* Asks the program to give the shard up; or, if it has not got the shard yet, ends the attempt. */
static void slot_stop(struct shards_slot *k)
{
    zkl_session *s = k->all->session;

    if (k->grant) {
        shards_push(k->all, ZKL_SHARDS_ASKED, k, NULL);
        return;
    }
    claim_abandon(&k->claim);
    stats_wait_end(s, &k->waits, 0);
    stats_waits_remove(s, &k->waits);
    slot_end(k, false);
}

/* Finds out whether somebody waits for the lock. */
static void slot_find_out(struct shards_slot *k)
{
    k->look_from = shards_now();
    contender_ask_others(k->claim.holder);
}

static void shards_on_timer(void *data);

static void slot_look(struct shards_slot *k, const struct shard_facts *common)
{
    struct shard_facts facts = *common;
    struct timer *t = &k->all->timer;
    int64_t due; /* ms: when the slot is to be looked at again */

    if (k->over || k->all->stopped)
        return;
    facts.owned = k->owned;
    facts.granted = k->grant != NULL;
    facts.wanted = k->wanted;
    facts.waits = k->waits_now;
    facts.revoked = k->revoked;
    facts.looked_at = k->looked_at;
    const enum shard_act act = shard_step(&k->plan, &facts, &due);
    if (due < SHARD_DRAIN_FOREVER && (!t->at || due * CLOCK_MS < t->due))
        timers_arm(k->all->session->timers, t, due * CLOCK_MS, shards_on_timer, k->all);
    if (act == SHARD_SEEK)
        slot_seek(k);
    else if (act == SHARD_STOP)
        slot_stop(k);
    else if (act == SHARD_LOOK)
        slot_find_out(k);
}

/* Looks at all slots. */
static void shards_look(zkl_shards *all)
{
    const struct shard_facts common = shards_facts(all);

    all->refs++;
    for (size_t k = 0; k < all->count; k++)
        slot_look(&all->slots[k], &common);
    shards_unref(all);
}

static void shards_on_timer(void *data)
{
    shards_look(data);
}

/* ---- a slot: what happens to its lock ---- */

/* Stores what is known of others that wait for the lock. */
static void slot_see_others(struct shards_slot *k, enum contender_news news)
{
    k->wanted = news == CONTENDER_OTHERS || (k->wanted && news == CONTENDER_UNKNOWN);
    if (k->look_from == 0)
        return;
    k->waits_now = news == CONTENDER_OTHERS;
    k->looked_at = k->look_from;
    k->look_from = 0;
}

static void slot_on_news(void *context, enum contender_news news)
{
    struct shards_slot *k = context;

    switch (news) {
    case CONTENDER_ALONE:
    case CONTENDER_OTHERS:
    case CONTENDER_UNKNOWN:
        slot_see_others(k, news);
        break;
    case CONTENDER_ASKED:
        k->revoked = true;
        break;
    case CONTENDER_ENDED: /* the grant tells of a loss */
        k->over = true;
        return;
    default:
        return;
    }
    slot_look_now(k);
}

/* Tells the loss of a grant that the user has. The grant calls it on the callback thread, without
 * the monitor. */
static void slot_on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct shards_slot *k = data;
    zkl_shards *all = k->all;
    const zkl_shards_news news = {.shard = k->number};

    if (state < ZKL_LOST)
        return;
    session_lock(all->session);
    const bool tells = state == ZKL_LOST && k->grant == grant;
    session_unlock(all->session);
    if (tells)
        all->fn(all, ZKL_SHARDS_LOST, &news, all->fn_data);
    shards_let_go(all);
}

/* Ends the slot, since the user has released the grant. A lost grant's contender tells the loss by
 * itself, and deletes the node after that. A transaction that has released the grant has deleted
 * the node. */
static void slot_on_given_back(void *context, zkl_grant *g, const struct grant_end *end)
{
    struct shards_slot *k = context;

    grant_forget(g);
    if (end->owned && !end->before)
        claim_release(&k->claim);
    else
        claim_forget(&k->claim);
    k->over = false;
    grant_unref(g_steal_pointer(&k->grant)); /* the user has another reference */
    const bool failed = end->owned && k->plan.state == SHARD_HELD;
    slot_end(k, failed);
}

static const struct grant_ops slot_grant_ops = {.outlasts = true, .given_back = slot_on_given_back};

/* Gives the program the grant. */
static void slot_grant(struct shards_slot *k)
{
    const enum contender_news others = contender_others(k->claim.holder);

    k->trouble = 0;
    k->all->refs++; /* until slot_on_change() is told the end */
    grant_watch(k->grant, slot_on_change, k);
    shards_push(k->all, ZKL_SHARDS_GRANTED, k, NULL);
    if (others == CONTENDER_UNKNOWN)
        slot_find_out(k);
    else
        slot_see_others(k, others);
    slot_look_now(k);
}

static void slot_on_decided(void *context, const zkl_error *error)
{
    struct shards_slot *k = context;
    zkl_session *s = k->all->session;

    if (!error)
        k->grant = grant_new(&k->claim.tenure, 1, &slot_grant_ops, k);
    op_count(s, &k->waits, k->entered, 0, k->grant, error);
    stats_waits_remove(s, &k->waits);
    if (!error) {
        slot_grant(k);
        return;
    }
    if (error->code != k->trouble)
        shards_fail(k->all, error);
    k->trouble = error->code;
    slot_end(k, true);
}

/* ---- the group ---- */

/* Tells why the program is no member: for an error of the member's, or for another session that has
 * the id. */
static void shards_tell_trouble(zkl_shards *all, const zkl_member_news *news)
{
    zkl_error why;

    if (news->err)
        why = *news->err;
    else
        error_fill(&why, ZKL_EBUSY, all->group,
                   "%s: session 0x%" G_GINT64_MODIFIER "x has the id %s%s%s", all->group,
                   news->session_id, all->id, *news->data ? ": " : "", news->data);
    session_lock(all->session);
    shards_fail(all, &why);
    session_unlock(all->session);
}

/* m is not freed during the call, even if the user frees the handle. */
static void shards_on_member(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                             void *data)
{
    zkl_shards *all = data;
    zkl_grant *grant;

    if (event == ZKL_MEMBER_BUSY || event == ZKL_MEMBER_FAILED)
        shards_tell_trouble(all, news);
    if (event == ZKL_MEMBER_JOINED && zkl_member_grant(m, &grant) == 0)
        zkl_grant_release(grant); /* it was asked for: from now on the session is kept proved */
    if (event == ZKL_MEMBER_JOINED || event == ZKL_MEMBER_LOST || event == ZKL_MEMBER_LEFT) {
        session_lock(all->session);
        shards_set_tokens(all, event == ZKL_MEMBER_JOINED ? news->token : 0, all->seen);
        shards_look(all);
        session_unlock(all->session);
    }
    if (event == ZKL_MEMBER_LEFT)
        shards_let_go(all);
}

/* Stores which shards the plan for the present members gives to this program. */
static void shards_on_view(zkl_members_event event, const zkl_member_info *one,
                           const zkl_members *members, void *data)
{
    zkl_shards *all = data;
    uint64_t seen = 0;

    (void)one;
    if (event != ZKL_MEMBERS_ALL)
        return;
    const zkl_member_info **owners = g_new0(const zkl_member_info *, all->count);
    zkl_shards_plan(owners, all->count, members);
    for (size_t i = 0; i < zkl_members_count(members); i++)
        if (strcmp(zkl_members_get(members, i)->id, all->id) == 0)
            seen = zkl_members_get(members, i)->token;
    session_lock(all->session);
    for (size_t k = 0; k < all->count; k++)
        all->slots[k].owned = owners[k] && strcmp(owners[k]->id, all->id) == 0;
    shards_set_tokens(all, all->joined, seen);
    shards_look(all);
    session_unlock(all->session);
    g_free(owners);
}

/* ---- all handles of a session that are not freed ---- */

struct shards_list {
    struct participant participant;
    GQueue list; /* of zkl_shards */
};

/* Stops all. The contenders and their grants were told the end before. */
static void shards_list_stop(struct participant *p, int code)
{
    GQueue *list = &((struct shards_list *)p)->list;

    while (!g_queue_is_empty(list))
        shards_stop(g_queue_peek_head(list), code);
}

static void shards_list_on_refused(struct participant *p)
{
    shards_list_stop(p, ZKL_EAUTH);
}

static void shards_list_on_closed(struct participant *p)
{
    shards_list_stop(p, ZKL_ECLOSED);
}

static const struct participant_ops shards_list_ops = {
    .on = {[NEWS_REFUSED] = shards_list_on_refused, [NEWS_CLOSED] = shards_list_on_closed}};

static GQueue *shards_list_of(zkl_session *s)
{
    contenders_of(s); /* the contenders join the session first: see shards_list_stop() */
    return &((struct shards_list *)participant_of(s, &shards_list_ops, sizeof(struct shards_list)))
                ->list;
}

/* ---- the handle ---- */

enum { SHARDS_DATA_MAX = 65000 };

/* Returns what is wrong with the arguments; NULL: nothing. The group checks the id. */
static const char *shards_check(const zkl_shards_options *o, size_t count, const char *id)
{
    if (count == 0 || count > ZKL_SHARDS_MAX)
        return "count is not 1 to 65536";
    if (!id)
        return "id is NULL";
    if (o->data && strnlen(o->data, SHARDS_DATA_MAX + 1) > SHARDS_DATA_MAX)
        return "data has more than 65000 bytes";
    if (o->data && !g_utf8_validate(o->data, -1, NULL))
        return "data is not UTF-8";
    if (o->weight < 0 || o->weight > ZKL_SHARDS_WEIGHT_MAX)
        return "weight is not 0 to 1000";
    return options_check(NULL, o->parents);
}

static zkl_shards *shards_new(zkl_session *s, const char *path, size_t count, const char *id)
{
    zkl_shards *all = g_malloc0(sizeof *all + count * sizeof all->slots[0]);

    all->session = session_ref(s);
    all->path = g_strdup(path);
    all->group = g_strconcat(path, "/members", NULL);
    all->id = g_strdup(id);
    all->count = count;
    all->refs = 3; /* the user's, one until STOPPED, and the member's */
    all->link.data = all;
    all->confirmed_since = shards_now();
    for (size_t k = 0; k < count; k++) {
        all->slots[k].all = all;
        all->slots[k].number = k;
    }
    return all;
}

/* Watches the group, and joins it. Returns 0, or the thread's last error: then no event comes. */
static int shards_join(zkl_shards *all, const zkl_shards_options *o)
{
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;
    int code = zkl_members_watch(&all->watch, all->session, all->group, ZKL_MEMBER_GROUP,
                                 shards_on_view, all);

    if (code)
        return code;
    char *data = g_strdup_printf("%s%szkl-shards %zu %d", o->data ? o->data : "",
                                 o->data ? "\n" : "", all->count, o->weight ? o->weight : 1);
    options.parents = o->parents;
    options.fn = shards_on_member;
    options.fn_data = all;
    code = zkl_member_join(&all->member, all->session, all->group, all->id, data, strlen(data),
                           &options);
    if (code)
        zkl_watch_free(all->watch);
    g_free(data);
    return code;
}

static void shards_drop(void *all)
{
    shards_let_go(all);
}

/* Gives up a handle that could not join. Inside a callback, of another session, the view was not
 * awaited: a call that began is over before the last reference is given up after it. */
static void shards_abandon(zkl_shards *all)
{
    zkl_session *s = all->session;

    session_lock(s);
    all->refs -= 2; /* neither STOPPED nor a member comes */
    session_unlock(s);
    if (!callbacks_push(s->callbacks, shards_drop, all))
        shards_drop(all);
}

/* Gives up what the handle has, once it has started and the user has freed it. */
static void shards_leave(zkl_shards *all)
{
    zkl_session *s = session_ref(all->session);

    zkl_member_free(all->member); /* first: others ask for the shards while these are drained */
    zkl_watch_free(all->watch);
    session_lock(s);
    shards_set_tokens(all, 0, all->seen);
    shards_look(all);
    if (all->busy == 0)
        shards_stop(all, 0);
    shards_unref(all);
    session_unlock(s);
    session_unref(s);
}

int zkl_shards_start(zkl_shards **ret, zkl_session *s, const char *path, size_t count,
                     const char *id, zkl_shards_fn fn, void *fn_data,
                     const zkl_shards_options *options)
{
    zkl_shards_options o = ZKL_SHARDS_OPTIONS_INIT;
    int code = call_check(s, "zkl_shards_start", path, false);

    if (code)
        return code;
    if (!ret || !fn)
        return error_set(ZKL_EINVAL, path, "zkl_shards_start: %s is NULL", ret ? "fn" : "ret");
    const char *wrong = options_take(&o, sizeof o, options);
    if (!wrong)
        wrong = shards_check(&o, count, id);
    if (wrong)
        return error_set(ZKL_EINVAL, path, "zkl_shards_start: %s", wrong);
    zkl_shards *all = shards_new(s, path, count, id);
    all->fn = fn;
    all->fn_data = fn_data;
    all->parents = o.parents;
    if ((code = shards_join(all, &o))) {
        shards_abandon(all);
        return code;
    }
    *ret = all;
    session_lock(s);
    all->started = true;
    g_queue_push_tail_link(shards_list_of(s), &all->link);
    if (s->closing || s->refused)
        shards_stop(all, s->closing ? ZKL_ECLOSED : ZKL_EAUTH);
    const bool freed = all->freed; /* the user may have freed the handle in a callback */
    session_unlock(s);
    if (freed)
        shards_leave(all);
    return 0;
}

void zkl_shards_free(zkl_shards *shards)
{
    if (!shards || fork_is_child(shards->session->generation))
        return;
    session_lock(shards->session);
    shards->freed = true;
    const bool started = shards->started;
    session_unlock(shards->session);
    if (started)
        shards_leave(shards);
}
