#include "contender.h"

#include <string.h>

#include "contender_requests.h"
#include "grant.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/session/incarnation.h"
#include "local_queue.h"
#include "locks.h"
#include "recipes/rule.h"

uint32_t contender_long_queue = LONG_QUEUE;

static void detach_grant(struct contender *c)
{
    if (!c->grant)
        return;
    grant_detach(c->grant);
    grant_unref(c->grant);
    c->grant = NULL;
}

void contender_unref(struct contender *c)
{
    if (--c->refs > 0)
        return;
    admission_unuse(c->admission);
    g_ref_string_release(c->payload);
    if (c->predecessor)
        g_rc_box_release(c->predecessor);
    g_free(c->old_id);
    g_free(c->odd_name);
    g_free(c->head);
    contender_free(c);
}

/* The attempt is over: nothing may call back into it but answers under way, which hold it. */
static void retire(struct contender *c)
{
    zkl_session *s = c->session;

    c->retired = true;
    if (c->head) {
        timers_cancel(&c->head->timer);
        watch_drop(&c->head->own_subscription, true);
        watch_drop(&c->head->children_subscription, true);
        watch_drop(&c->head->limit_subscription, false);
    }
    watch_drop(&c->predecessor_subscription, false);
    detach_grant(c);
    contender_tell(c, CONTENDER_ENDED);
    s->orphans -= c->orphan;
    admission_leave(c);
    contender_unref(c);
    incarnation_retired(s);
}

/* ---- the recipe's verdicts ---- */

static void give_grant(struct contender *c)
{
    zkl_session *s = c->session;
    char *node = contender_node(c);

    if (c->machine.number >= RULE_NUMBER_WARN)
        log_line(s->log, ZKL_LOG_WARN,
                 "%s: the sequence numbers of its directory end at 2147483647", node);
    c->grant = grant_new(s, c, node, c->payload, c->machine.token);
    g_free(node);
    if (c->machine.others == OTHERS_WAIT || local_queue_waits(c))
        grant_call(c->grant, GRANT_WANTED);
    c->decided(c->context, c->grant, NULL);
}

static void on_told(void *data)
{
    struct contender *c = data;
    zkl_session *s = c->session;

    session_lock(s);
    contender_release(c);
    contender_unref(c);
    session_unlock(s);
}

static void on_timer(void *data);

/* A node that may still stand goes when the callbacks have returned, so that what they stop is
 * stopped before another is granted; but a callback that hangs holds it up one timeout at most. */
static void lose(struct contender *c)
{
    zkl_session *s = c->session;

    /* RELEASED by a transaction, with its node. */
    if (!c->idle && grant_told_state(c->grant) != ZKL_RELEASED)
        log_line(s->log, ZKL_LOG_WARN, "%s: lost", grant_full_node(c->grant));
    c->refs++;
    if (grant_lose(c->grant, on_told, c)) {
        timers_arm(s->timers, &contender_head(c)->timer,
                   clock_now().boot + s->timeout_ms * CLOCK_MS, on_timer, c);
    } else {
        c->refs--;
        c->release_next = true;
    }
    detach_grant(c);
    contender_tell(c, CONTENDER_ENDED);
}

/* The names are those of the snapshot that the recipe has just seen. Which child it is matters more
 * than how a long path ends. */
static void give_layout(struct contender *c, uint32_t incompatible)
{
    const char *path = session_path(c->session, admission_path(c->admission));
    char *text = layout_incompatible(c->listed->names[incompatible]);
    zkl_error e;
    int left = (int)(sizeof e.text - sizeof ": ") - (int)strlen(text);

    error_fill(&e, ZKL_ELAYOUT, path, "%.*s: %s", MAX(left, 0), path, text);
    g_free(text);
    c->decided(c->context, NULL, &e);
}

static const char *describe(int error, int code)
{
    return error == ATTEMPT_NOCHILDREN ? "it is below an ephemeral node"
           : error == ATTEMPT_NOLIMIT  ? "it has no limit of a semaphore"
           : error == ATTEMPT_PERMITS  ? "more permits than the limit"
                                       : zkl_strerror(code);
}

static void give_error(struct contender *c, int error)
{
    zkl_error e;
    char *whole = admission_path(c->admission),
         *blamed = c->blame ? g_strndup(whole, c->blame) : NULL;
    const char *path = session_path(c->session, blamed ? blamed : whole);
    static const int codes[] = {
        [ATTEMPT_BUSY] = ZKL_EBUSY,       [ATTEMPT_REFUSED] = ZKL_EACCES,
        [ATTEMPT_NOCHILDREN] = ZKL_EPATH, [ATTEMPT_OVERFLOW] = ZKL_EOVERFLOW,
        [ATTEMPT_LIMIT] = ZKL_ELIMIT,     [ATTEMPT_PROTOCOL] = ZKL_EPROTO,
        [ATTEMPT_PERMITS] = ZKL_ELIMIT,   [ATTEMPT_NOLIMIT] = ZKL_ENOENT,
    };

    if (error != ATTEMPT_ABORTED)
        error_fill(&e, codes[error], path, "%s: %s", path, describe(error, codes[error]));
    g_free(blamed);
    c->decided(c->context, NULL, error == ATTEMPT_ABORTED ? c->why : &e);
}

static void perform(struct contender *c, const struct action *a)
{
    switch (a->kind) {
    case ACT_GRANT:
        give_grant(c);
        break;
    case ACT_ADMIT:
        admission_enter(c);
        break;
    case ACT_REVOKE:
        lose(c);
        break;
    case ACT_OTHERS:
        contender_tell_others(c, a->others);
        break;
    case ACT_ASKED:
        contender_tell_asked(c);
        break;
    case ACT_FAIL:
        contender_forget(c);
        if (a->error == ATTEMPT_LAYOUT)
            give_layout(c, a->id);
        else
            give_error(c, a->error);
        break;
    case ACT_ARM:
        timers_arm(c->session->timers, &contender_head(c)->timer,
                   clock_now().boot + a->number * CLOCK_MS, on_timer, c);
        break;
    default:
        contender_ask(c, a);
    }
}

/* A deadline matters to holders and to whoever lacks nothing else: of thousands that wait, none is
 * stepped for each proof. */
static void note_deadline(struct contender *c)
{
    zkl_session *s = c->session;
    bool by_deadline = c->grant || c->machine.state == ST_CLAIMING;

    if (!by_deadline && !c->head)
        return;
    struct head_state *h = contender_head(c);
    if (by_deadline && !h->by_deadline)
        g_queue_push_tail_link(&locks_of(s)->by_deadline, &h->deadline_link);
    else if (!by_deadline && h->by_deadline)
        g_queue_unlink(&locks_of(s)->by_deadline, &h->deadline_link);
    h->by_deadline = by_deadline;
}

void contender_step(struct contender *c, struct event *ev)
{
    zkl_session *s = c->session;
    struct actions actions;
    const bool waited = c->machine.state == ST_WAITING;

    ev->session = s->id;
    ev->connection = s->connection;
    ev->in_time = proofs_valid(&s->proofs, clock_now());
    c->refs++;
    attempt_step(&c->machine, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(c, &actions.list[i]);
    if (c->release_next) {
        c->release_next = false;
        contender_step(c, &(struct event){.kind = EV_RELEASE});
    }
    if (c->machine.state == ST_DONE && !c->retired)
        retire(c);
    if (c->machine.state == ST_WAITING && !waited)
        contender_tell(c, CONTENDER_WAITS);
    note_deadline(c);
    admission_passed(c);
    contender_unref(c);
}

void contender_step_kind(struct contender *c, enum event_kind kind)
{
    contender_step(c, &(struct event){.kind = kind});
}

static void on_timer(void *data)
{
    struct contender *c = data;

    contender_step_kind(c, c->machine.state == ST_LAPSED ? EV_RELEASE : EV_TIMER);
}

static void on_own_fired(void *context, bool gone)
{
    contender_step(context, &(struct event){.kind = EV_OWN_FIRED, .gone = gone});
}

static void on_predecessor_fired(void *context, bool gone)
{
    contender_step(context, &(struct event){.kind = EV_PRED_FIRED, .gone = gone});
}

static void on_children_fired(void *context, bool gone)
{
    (void)gone;
    contender_step_kind(context, EV_CHILDREN_FIRED);
}

static void on_limit_fired(void *context, bool gone)
{
    (void)gone;
    contender_step_kind(context, EV_LIMIT_FIRED);
}

struct head_state *contender_head(struct contender *c)
{
    if (!c->head) {
        c->head = g_new0(struct head_state, 1);
        c->head->own_subscription = (struct subscription){.fired = on_own_fired, .context = c};
        c->head->children_subscription =
            (struct subscription){.fired = on_children_fired, .context = c};
        c->head->limit_subscription = (struct subscription){.fired = on_limit_fired, .context = c};
        c->head->deadline_link.data = c;
    }
    return c->head;
}

struct contender *contender_enter(zkl_session *s, const struct contender_spec *spec,
                                  contender_decided decided, void *context)
{
    struct contender *c = contender_new(spec->limit);

    c->session = s;
    c->refs = 1;
    c->admission = admission_use(s, spec->directory);
    c->payload = g_ref_string_acquire(spec->payload);
    c->parents = spec->parents;
    c->style = spec->style;
    c->retains = spec->retains;
    c->rank = spec->rank;
    c->decided = decided;
    c->context = context;
    c->predecessor_subscription =
        (struct subscription){.fired = on_predecessor_fired, .context = c};
    if (spec->news)
        contender_head(c)->news = spec->news;
    contender_new_id(c);
    attempt_init(&c->machine, spec->kind, spec->try_only);
    c->machine.strict = spec->strict;
    c->machine.watch_children = spec->watch_children;
    c->machine.heeds = spec->heeds;
    if (spec->limit)
        contender_use_limit(c);
    else
        c->machine.long_queue = spec->hints ? contender_long_queue : 0;
    admission_arrive(c, spec->local);
    return c;
}

int contender_ahead(const struct contender *c)
{
    enum attempt_state state = c->machine.state;

    if (state == ST_PROVING || state == ST_CLAIMING)
        return 0;
    return c->machine.ahead > 0 ? (int)c->machine.ahead : -1;
}

void contender_abort(struct contender *c, int code, const char *text)
{
    const char *path = session_path(c->session, admission_path(c->admission));
    zkl_error why;

    error_fill(&why, code, path, "%s: %s", path, text);
    c->refs++;
    c->why = &why;
    contender_step(c, &(struct event){.kind = EV_ABORT, .error = ATTEMPT_ABORTED});
    c->why = NULL;
    contender_recall(c);
    contender_unref(c);
}

static void tell_nobody(void *context, zkl_grant *grant, const zkl_error *error)
{
    (void)context;
    (void)grant;
    (void)error;
}

void contender_abandon(struct contender *c)
{
    c->decided = tell_nobody;
    contender_forget(c);
    contender_abort(c, ZKL_ECANCELED, zkl_strerror(ZKL_ECANCELED));
}

void contender_look(struct contender *c)
{
    contender_step_kind(c, EV_LOOK);
}

void contender_heed(struct contender *c)
{
    contender_step_kind(c, EV_HEED);
}

void contender_proved(struct contender *c)
{
    if (c->look_again)
        contender_look(c);
    contender_tell(c, CONTENDER_PROVED);
}

void contender_downgrade(struct contender *c)
{
    contender_step_kind(c, EV_DOWNGRADE);
}

void contender_release(struct contender *c)
{
    contender_step_kind(c, EV_RELEASE);
}

void contender_lapse(struct contender *c)
{
    contender_step_kind(c, EV_LAPSED);
}

void contender_vanished(struct contender *c)
{
    on_own_fired(c, true);
}
