#include "oracle.h"

#include <inttypes.h>
#include <string.h>

#include "candidate.h"
#include "client.h"
#include "foreign_node.h"
#include "lib/contender/contender.h"
#include "lib/lock/mutex.h"
#include "lib/session/core.h"
#include "nodes.h"
#include "onlooker.h"
#include "permits.h"
#include "stage.h"
#include "trace.h"

/* After the deadline that was known, a proof may have come in before the loss was noticed. */
#define EXCUSE_NS INT64_C(1000000000)

/* A loss is told within this, if nobody is stopped and no callback hangs. */
#define TOLD_NS INT64_C(100000000)

static zkl_state state_of(const struct acquisition *a)
{
    struct host *before = host_enter(a->process->host);
    zkl_state state = zkl_grant_state(a->grant);

    host_enter(before);
    return state;
}

static bool is_valid(const struct acquisition *a)
{
    return state_of(a) <= ZKL_SUSPECT;
}

static void wrong(struct stage *stage, const struct acquisition *a, const char *what)
{
    char *name = acquisition_name(a);

    stage_wrong(stage, "%s on %s (%s): %s", name, client_paths[a->path],
                a->node ? a->node : "no node", what);
    g_free(name);
}

/* What it held is nobody's business from the latest of its deadlines on. */
static void excuse(struct stage *stage, struct acquisition *a)
{
    if (a->excused)
        return;
    a->excused = true;
    a->ends_by =
        stage_now(stage) + a->process->options.session_timeout_ms * INT64_C(1150000) + EXCUSE_NS;
}

/* ---- those who wait ---- */

enum { GRACE_NS = 100000000 };

/* All that it has asked for is answered, and it has done what follows from that. */
static bool is_at_rest(zkl_session *s)
{
    session_lock(s);
    const bool rests = s->up && s->under_way == 0 && g_queue_is_empty(&s->parked) &&
                       g_queue_is_empty(&s->refusals) && s->orphans == 0;
    session_unlock(s);
    return rests;
}

/* NULL: of what it is acquiring now it has none there. */
static const struct contender_node *node_at(const struct stage *stage, const struct client *p,
                                            int path)
{
    for (guint i = 0; i < stage->oracle.standing->len; i++) {
        const struct contender_node *n = stage->oracle.standing->pdata[i];
        if (n->line == path && n->session == zkl_session_id(p->session) && !n->undone &&
            !n->stray && !nodes_was_granted(stage, n))
            return n;
    }
    return NULL;
}

static void check_process(struct stage *stage, const struct client *p)
{
    const struct contender_node *first = node_at(stage, p, 0), *second = node_at(stage, p, 1);

    if (!first || !second || !nodes_before(&stage->oracle, first) || !is_at_rest(p->session))
        return;
    stage_wrong(stage, "%s stands, though %s of the same lock is waited for", second->path,
                first->path);
}

/* ---- idle tenures ---- */

/* The token of another session's contender that waits behind the one with that token; 0: there is
 * none. */
static uint64_t rival_of(const struct stage *stage, uint64_t token)
{
    const GPtrArray *standing = stage->oracle.standing;
    const struct contender_node *own = NULL, *n;

    for (guint i = 0; i < standing->len; i++) {
        n = standing->pdata[i];
        if (n->zxid == token && !n->older)
            own = n;
        else if (own && n->line == own->line && n->session != own->session && !n->undone &&
                 n->number > own->number)
            return n->zxid;
    }
    return 0;
}

/* The first of its idle tenures that another waits for, or none. */
static struct kept_out find_kept_out(const struct stage *stage, zkl_session *s)
{
    struct kept_out found = {.rival = 0};

    session_lock(s);
    for (const GList *l = contenders_of(s)->idle.head; l && found.rival == 0; l = l->next) {
        found.tenure = turns_tenure(l->data)->token;
        found.rival = rival_of(stage, found.tenure);
    }
    session_unlock(s);
    return found;
}

static void check_idle(struct stage *stage, struct client *p)
{
    const struct kept_out now = find_kept_out(stage, p->session);
    const struct kept_out *before = &p->kept_out;

    if (now.rival == 0 || now.tenure != before->tenure || now.rival != before->rival)
        p->kept_out = now;
    else if (before->known_in != 0 && before->known_in < stage->tally.steps)
        stage_wrong(stage, "the tenure %" PRIu64 " of %s is idle, though %" PRIu64 " waits",
                    now.tenure, host_name(p->host), now.rival);
}

/* Requests are parked behind a create that an old server is asked about again, but proofs are not.
 * So such a write may be sent before the look of the tenure. */
static void hear_write(const struct stage *stage, const struct note *note, struct client *p)
{
    struct kept_out *k = &p->kept_out;

    if (note->kind == NOTE_SENT && k->proof == 0 && g_queue_is_empty(&p->session->parked))
        k->proof = note->sequence;
    else if (note->kind == NOTE_ANSWERED && k->proof != 0 && note->sequence >= k->proof &&
             (note->rc == STORE_OK || note->rc == STORE_BADVERSION))
        k->known_in = stage->tally.steps;
}

static void order_note(struct stage *stage, const struct note *note)
{
    for (guint i = 0; client_retaining && note->host && i < stage->processes->len; i++) {
        struct client *p = stage->processes->pdata[i];
        if (p->host != note->host || p->kept_out.rival == 0)
            continue;
        if (note->kind == NOTE_EVENT)
            p->kept_out.rival = 0;
        else if (note->request == STORE_SET)
            hear_write(stage, note, p);
    }
}

/* ---- those who cannot be granted ---- */

static struct unproved find_unproved(zkl_session *s)
{
    struct unproved found = {.token = 0};

    session_lock(s);
    for (const GList *l = contenders_of(s)->drivers.list.head; s->up && l && found.token == 0;
         l = l->next) {
        const struct attempt *m = &DRIVER_OWNER(l->data, struct contender)->machine;
        if (m->state == ST_CLAIMING || (m->state == ST_PROVING && m->awaits))
            found.token = m->token;
    }
    found.connection = s->connection;
    session_unlock(s);
    return found;
}

/* For so long, by the slowest clock, others may have to wait for it. */
static int64_t patience(const struct client *p)
{
    return p->options.session_timeout_ms * INT64_C(1150000) + GRACE_NS;
}

static void check_unproved(struct stage *stage, struct client *p)
{
    struct unproved now = find_unproved(p->session);
    const struct unproved *before = &p->unproved;

    now.since = before->token == now.token && before->connection == now.connection
                    ? MAX(before->since, p->running_since)
                    : stage_now(stage);
    if (now.token != 0 && stage_now(stage) - now.since > patience(p))
        stage_wrong(stage, "the contender %" PRIu64 " of %s is first, but cannot be granted",
                    now.token, host_name(p->host));
    p->unproved = now;
}

static void order_check(struct stage *stage)
{
    for (guint i = 0; i < stage->processes->len; i++) {
        struct client *p = stage->processes->pdata[i];
        if (!p->session || !client_runs(p))
            continue;
        check_unproved(stage, p);
        if (p->locks_both)
            check_process(stage, p);
        else if (client_retaining)
            check_idle(stage, p);
    }
}

/* ---- what is noted ---- */

/* One that opens another session has no other event of the one before. */
static void hear_connection(struct stage *stage, const struct note *note)
{
    for (guint i = 0; i < stage->processes->len; i++) {
        struct client *p = stage->processes->pdata[i];
        if (p->host != note->host || note->event > STORE_EV_EXPIRED)
            continue;
        p->up_at = note->event == STORE_EV_UP ? stage_now(stage) : 0;
        p->up_in = stage->tally.steps;
    }
}

void oracle_note(struct stage *stage, const struct note *note)
{
    if (note->kind == NOTE_EVENT)
        hear_connection(stage, note);
    if (note->kind == NOTE_LEADER)
        stage_disturbed(stage, 0);
    nodes_note(stage, note);
    permits_note(stage, note);
    order_note(stage, note);
}

/* ---- completion ---- */

/* Readers come in any order, each above the writers before it. */
static bool is_token_low(const struct stage *stage, const struct acquisition *a)
{
    const struct oracle *o = &stage->oracle;
    const int place = client_place(a->path);

    if (a->shared)
        return a->token <= o->last_alone[place];
    return a->token < o->last_token[place] ||
           (a->token == o->last_token[place] && a->turn <= o->last_turn[place]);
}

static void check_place(struct stage *stage, const struct acquisition *a,
                        const struct contender_node *n)
{
    int place = client_place(a->path);
    uint64_t *last = &stage->oracle.last_token[place], *turn = &stage->oracle.last_turn[place];

    const struct contender_node *before = nodes_before(&stage->oracle, n);
    const char *obstacle = before ? before->path : foreign_nodes_forbid(stage, a, n);
    if (obstacle) {
        char *text = g_strdup_printf("is granted, but %s stands before it", obstacle);
        wrong(stage, a, text);
        g_free(text);
    }
    if (is_token_low(stage, a) && !n->older)
        wrong(stage, a, "its token and turn are not above those of the last grant");
    if (stage->oracle.last_number[place] && stage->oracle.last_number[place] != a->number)
        stage->tally.handovers++;
    if (!n->older) {
        *last = MAX(*last, a->token);
        *turn = a->turn;
    }
    if (!n->older && !a->shared)
        stage->oracle.last_alone[place] = a->token;
    stage->oracle.last_number[place] = a->number;
}

/* Whether the process knew that the node was gone. It did if it sent a write after the node was
 * taken away, and heard the answer before the grant. (Answers of one step come in any order.) Only
 * a mutex is sure to know. The winner of an election looks at its rivals after its grant. A later
 * turn goes by the proof of the first, as a hold does: in the first 20 ms the own node and the
 * children may still be without a watch. A lock at both paths holds one before the other comes.
 * Numbers come after the admission, and so does the look at the path of leases. */
static bool is_known_gone(const struct acquisition *a, const struct contender_node *n)
{
    return a->path < PATHS && a->turn == 0 && !a->with && !a->numbered && !client_leasing &&
           n->known_in != 0 && n->known_in < a->process->heard_in;
}

/* A node of the acquisition that is gone, whoever did it; NULL: all stand. */
static const struct contender_node *
gone_node(const struct stage *stage, const struct acquisition *a, const struct contender_node *n)
{
    for (int i = 0; !n->gone && i < PERMITS_MAX && a->more[i]; i++) {
        const struct contender_node *more = nodes_find(&stage->oracle, a->more[i]);
        if (more && more->gone)
            return more;
    }
    return n->gone ? n : NULL;
}

/* The connection that a process has, if nothing was done to it since it was made; or 0. */
static int64_t well_at(const struct stage *stage, const struct client *p)
{
    return stage->faults == 0 && stage->well_since < p->up_at ? p->up_at : 0;
}

/* On a network that stays well, a proof comes before the deadline of whatever is granted. */
static void check_loss(struct stage *stage, struct acquisition *a)
{
    if (a->well_at != 0 && well_at(stage, a->process) == a->well_at && !a->excused &&
        a->process->running_since < a->well_at && zkl_grant_loss(a->grant) == ZKL_LOSS_DEADLINE)
        wrong(stage, a, "is lost by its deadline, though all has been well since it was granted");
    a->well_at = 0;
}

static void check_grant(struct stage *stage, struct acquisition *a)
{
    const struct contender_node *n = nodes_find(&stage->oracle, a->node);
    const struct contender_node *gone = n ? gone_node(stage, a, n) : NULL;

    if (!n)
        wrong(stage, a, "is granted, but its node was never made");
    else if (a->token != n->zxid)
        wrong(stage, a, "its token is not the zxid that made its node");
    else if (!is_valid(a))
        stage->tally.stillborn++;
    else if (gone && !nodes_was_taken(gone))
        wrong(stage, a, "is given a grant that is valid, but its node is gone");
    else if (n->behind)
        wrong(stage, a, "is given a grant, but its node was gone before its predecessor's");
    else if (is_known_gone(a, n))
        wrong(stage, a,
              "is given a grant, but its session has proved itself since its node was gone");
    else if (gone)
        excuse(stage, a);
    else if (client_counting)
        permits_check_grant(stage, a, n);
    else
        check_place(stage, a, n);
    if (n && nodes_is_adopted(&stage->oracle, a->node))
        stage->tally.adoptions++;
    stage->tally.yielded += n && n->late && a->turn == 0 && a->timeout_ms == 0;
}

/* By the same handle. One that is freed tells all who wait before another gets its address. */
static void check_order(struct stage *stage, const struct acquisition *a)
{
    for (guint i = 0; a->mutex && i < a->number - 1; i++) {
        const struct acquisition *b = stage->acquisitions->pdata[i];
        if (b->process == a->process && b->mutex == a->mutex && !b->completed && !b->abandoned)
            wrong(stage, a, "is granted, but another caller of its handle has waited for longer");
    }
}

static bool fits(const struct stage *stage, const struct acquisition *a)
{
    const struct oracle *o = &stage->oracle;

    switch (a->code) {
    case ZKL_ECANCELED:
        return a->canceled;
    case ZKL_ECLOSED:
        return a->closed;
    case ZKL_EBUSY:
        return a->timeout_ms == 0;
    case ZKL_ETIMEDOUT:
        return a->timeout_ms > 0 && a->timeout_ms != ZKL_FOREVER;
    case ZKL_EUNREACHABLE:
        return a->timeout_ms != ZKL_FOREVER;
    case ZKL_EACCES:
        return o->refusing;
    case ZKL_EOVERFLOW:
        return o->numbers_end;
    case ZKL_ELAYOUT:
        return foreign_nodes_explain(stage, a->path, a->peer, a->why, a->entered_at);
    case ZKL_ELIMIT:
    case ZKL_ENOENT:
        return limit_log_explains(stage, a);
    default:
        return false;
    }
}

/* A third more for slow clocks, and two timeouts for a callback that hangs. */
static bool is_in_time(const struct stage *stage, const struct acquisition *a)
{
    const struct client *p = a->process;

    if (a->timeout_ms == ZKL_FOREVER)
        return true;
    int64_t ms = a->timeout_ms == 0 ? p->options.session_timeout_ms : a->timeout_ms;
    int64_t limit = (ms * 4 / 3 + 3 * p->options.session_timeout_ms) * INT64_C(1000000);

    return p->running_since > a->entered_at || stage_now(stage) - a->entered_at <= limit;
}

static void count(struct tally *t, const struct acquisition *a)
{
    t->grants += a->code == 0;
    t->turns += a->turn > 0;
    t->cancels += a->code == ZKL_ECANCELED;
    t->refused += a->code == ZKL_ELAYOUT;
    t->beyond += a->code == ZKL_ELIMIT;
    t->timeouts += a->code == ZKL_ETIMEDOUT || a->code == ZKL_EUNREACHABLE;
}

void oracle_completed(struct stage *stage, struct acquisition *a)
{
    count(&stage->tally, a);
    stage->oracle.look = true;
    if (a->completed)
        wrong(stage, a, "completes twice");
    else if (a->canceled && a->code != ZKL_ECANCELED && !(a->path >= PATHS && a->closed))
        wrong(stage, a, "was canceled, but completes otherwise");
    else if (!a->grant && !fits(stage, a))
        wrong(stage, a, zkl_strerror(a->code));
    else if (!is_in_time(stage, a))
        wrong(stage, a, "completes long after its time");
    if (!a->grant)
        return;
    if (!a->released)
        g_ptr_array_add(stage->oracle.holding, a);
    if (a->process->up_in < a->process->heard_in && state_of(a) == ZKL_HELD)
        a->well_at = well_at(stage, a->process);
    check_order(stage, a);
    check_grant(stage, a);
}

/* ---- what is told of a grant ---- */

void oracle_changed(struct stage *stage, const struct watcher *w, const zkl_grant *grant,
                    zkl_state state)
{
    struct acquisition *a = w->acquisition;

    stage->oracle.look = true;
    if (w->final)
        wrong(stage, a, "is told something after its end was told");
    else if (state == ZKL_HELD && !(w->any && w->last == ZKL_SUSPECT))
        wrong(stage, a, "is told HELD without having been SUSPECT");
    else if (state == ZKL_RELEASED && !a->released)
        wrong(stage, a, "is told RELEASED without having been released");
    else if (state == ZKL_LOST && zkl_grant_state(grant) != ZKL_LOST)
        wrong(stage, a, "is told LOST without being it");
    stage->tally.losses += state == ZKL_LOST && w == &a->watchers[0];
}

void oracle_released(struct stage *stage, struct acquisition *a)
{
    g_ptr_array_remove(stage->oracle.holding, a);
}

/* ---- after each step ---- */

/* A node that goes must have been given up before. */
static void check_fallen(struct stage *stage, const struct contender_node *n)
{
    for (guint i = 0; i < stage->oracle.holding->len; i++) {
        struct acquisition *a = stage->oracle.holding->pdata[i];
        if (!acquisition_has_node(a, n->path))
            continue;
        if (nodes_was_taken(n))
            excuse(stage, a);
        else if (is_valid(a))
            wrong(stage, a, "its node is gone, but its grant is still valid");
    }
}

static bool is_told(const struct acquisition *a)
{
    for (unsigned i = 0; i < a->watching; i++) {
        if (!a->watchers[i].final)
            return false;
    }
    return true;
}

static void check_told(struct stage *stage, struct acquisition *a, bool valid)
{
    const struct client *p = a->process;
    int64_t now = stage_now(stage);

    if (valid || is_told(a) || !client_runs(p) || p->dispatch_at != NEVER) {
        a->lost_since = 0;
        return;
    }
    if (a->lost_since == 0)
        a->lost_since = now;
    int64_t since = MAX(a->lost_since, p->running_since);
    if (now - since > TOLD_NS + p->timers_late)
        wrong(stage, a, "its loss is not told");
}

static void check_state(struct stage *stage, const struct acquisition *a)
{
    int64_t session = zkl_grant_session_id(a->grant);

    if (g_hash_table_contains(stage->oracle.down, &session) && state_of(a) == ZKL_HELD)
        wrong(stage, a, "is HELD, though its session is disconnected");
}

/* The node had gone, and the servers have it again: who passed it by holds beside its owner. */
static bool is_undone(const struct stage *stage, const struct acquisition *a)
{
    const struct contender_node *n = nodes_find(&stage->oracle, a->node);

    return n && n->undone;
}

static void check_holding(struct stage *stage)
{
    const struct acquisition *holders[LINES] = {NULL};

    for (guint i = 0; i < stage->oracle.holding->len; i++) {
        struct acquisition *a = stage->oracle.holding->pdata[i];
        const struct acquisition **holder = &holders[client_place(a->path)];
        bool valid = is_valid(a);
        check_told(stage, a, valid);
        if (!valid) {
            check_loss(stage, a);
            continue;
        }
        check_state(stage, a);
        if (a->excused) {
            if (stage_now(stage) > a->ends_by)
                wrong(stage, a, "its node was taken away, but its grant does not end");
        } else if (is_undone(stage, a)) {
            continue;
        } else if (client_counting) {
            g_ptr_array_add(stage->oracle.believing, a);
        } else if (*holder && !(a->shared && (*holder)->shared)) {
            char *other = acquisition_name(*holder);
            char *text = g_strdup_printf("it and %s hold at once", other);
            wrong(stage, a, text);
            g_free(text);
            g_free(other);
        } else {
            *holder = a;
        }
    }
    permits_check_believing(stage);
}

void oracle_check(struct stage *stage)
{
    struct oracle *o = &stage->oracle;

    for (guint i = 0; i < o->fallen->len; i++)
        check_fallen(stage, o->fallen->pdata[i]);
    if (o->always || o->look || o->fallen->len > 0)
        check_holding(stage);
    order_check(stage);
    g_ptr_array_set_size(o->fallen, 0);
    o->look = false;
}

/* ---- at the end ---- */

bool oracle_is_clean(const struct stage *stage)
{
    return stage->oracle.standing->len == 0 && world_watch_count(stage->world) == 0;
}

void oracle_at_rest(struct stage *stage)
{
    const GPtrArray *standing = stage->oracle.standing;

    for (guint i = 0; i < stage->acquisitions->len; i++) {
        const struct acquisition *a = stage->acquisitions->pdata[i];
        if (!a->completed && !a->abandoned)
            wrong(stage, a, "never completes, though all is well again");
        else if (a->grant)
            wrong(stage, a, "is still in somebody's hands");
    }
    if (standing->len > 0)
        stage_wrong(stage, "%s is left, though all is well again",
                    ((struct contender_node *)standing->pdata[0])->path);
    if (world_watch_count(stage->world) > 0)
        stage_wrong(stage, "%u watches are left", world_watch_count(stage->world));
}

void oracle_at_end(struct stage *stage)
{
    for (guint i = 0; i < stage->acquisitions->len; i++) {
        const struct acquisition *a = stage->acquisitions->pdata[i];
        if (!a->abandoned && !is_told(a))
            wrong(stage, a, "the end of its grant was never told");
    }
    candidates_at_end(stage);
    if (world_session_count(stage->world) > 0)
        stage_wrong(stage, "%u sessions are left", world_session_count(stage->world));
}
