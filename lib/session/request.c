#include "request.h"

#include <string.h>

#include "denial.h"
#include "lib/base/log.h"
#include "lib/base/probes.h"

/* A server may hang up instead of answering a request, and each lost connection is one for all
 * grants of the session. So from the fifth time on the request waits before it is sent again, at
 * twice the pause each time, up to 3.2 s; and after it those that were asked for later. A request
 * that is marked once is not sent again, and its asker hears of the loss after the same pause. */
enum { LOST_BEFORE_PAUSE = 4, DOUBLED_MOST = 5 };

#define RETRY_NS (100 * CLOCK_MS)

/* A follower that is cut off sends what it has kept when its link is back, if the leader still
 * waits for it: for syncLimit ticks, mostly 10 s (docs/design/late.md). */
#define LATE_NS (20000 * CLOCK_MS)

/* WINDOW limits the requests under way. They keep a server busy, and it handles them in a small
 * part of a session timeout. A list counts as one request more for each NAMES_EACH names in it. */
enum { WINDOW = 1024, NAMES_EACH = 32 };

struct request *request_new(enum store_kind kind, char *path,
                            void (*done)(struct request *r, const struct store_reply *reply),
                            void *context)
{
    struct request *r = g_new0(struct request, 1);

    r->what.kind = kind;
    r->what.path = path;
    r->proves =
        kind == STORE_CREATE || kind == STORE_DELETE || kind == STORE_SET || kind == STORE_MULTI
            ? PROOF_WRITE
            : PROOF_ANCHOR;
    r->done = done;
    r->context = context;
    r->link.data = r;
    return r;
}

void request_free(struct request *r)
{
    g_free((char *)(uintptr_t)r->what.path);
    g_free((char *)(uintptr_t)r->what.data);
    g_free(r->made);
    if (r->held)
        timers_cancel(r->held);
    g_free(r->held);
    g_free(r);
}

static void request_flush(zkl_session *s);

static void request_on_retry(void *data)
{
    zkl_session *s = data;

    if (s->up)
        request_flush(s);
}

/* Parks r among the others, in the order in which all were asked for. So a request that was under
 * way when the connection broke comes before one that was not sent yet. */
static void request_park(zkl_session *s, struct request *r)
{
    const struct request *last = s->parked.tail ? s->parked.tail->data : NULL;
    GList *next = last && last->number > r->number ? s->parked.head : NULL;

    while (next && ((struct request *)next->data)->number < r->number)
        next = next->next;
    r->parked = true;
    g_queue_insert_before_link(&s->parked, next, &r->link);
}

static int request_losses(const zkl_session *s)
{
    const struct request *first = s->parked.head ? s->parked.head->data : NULL;

    return first ? first->lost : 0;
}

static int64_t request_pause(int lost)
{
    return RETRY_NS << CLAMP(lost - LOST_BEFORE_PAUSE - 1, 0, DOUBLED_MOST);
}

/* Sends what is parked again, after a pause: what failed on a standing connection would fail
 * again. */
static void request_retry_later(zkl_session *s)
{
    if (s->up && !s->retry_timer.at)
        timers_arm(s->timers, &s->retry_timer, clock_now().boot + request_pause(request_losses(s)),
                   request_on_retry, s);
}

/* Parks a request that the store has not taken: nothing of it was sent. */
static void request_put_back(zkl_session *s, struct request *r)
{
    if (!r->repeated)
        r->sent = (struct instant){.boot = 0};
    request_park(s, r);
    request_retry_later(s);
}

/* ---- what is under way ---- */

/* Returns where the length of the last list is kept. Two paths may have the same place. */
static uint32_t *request_listed_at(zkl_session *s, const struct request *r)
{
    return &s->listed[g_str_hash(r->what.path) % G_N_ELEMENTS(s->listed)];
}

static unsigned request_weigh(zkl_session *s, const struct request *r)
{
    return r->what.kind == STORE_LIST ? 1 + *request_listed_at(s, r) / NAMES_EACH : 1;
}

static bool request_has_room(zkl_session *s, const struct request *r)
{
    if (s->creating)
        return false;
    return s->under_way == 0 || s->under_way + request_weigh(s, r) <= WINDOW;
}

/* Counts an answer, and that r is no longer under way. */
static void request_count_answer(zkl_session *s, struct request *r, const struct store_reply *reply)
{
    s->under_way -= r->weight;
    r->weight = 0;
    if (reply->rc >= STORE_UNKNOWN)
        return;
    s->stats.answers++;
    s->stats.answer_bytes +=
        (uint64_t)MAX(reply->length, 0) + (reply->path ? strlen(reply->path) : 0);
    for (int i = 0; i < reply->count; i++)
        s->stats.answer_bytes += strlen(reply->names[i]);
    if (r->what.kind == STORE_LIST)
        *request_listed_at(s, r) = (uint32_t)reply->count;
}

/* Tells the proofs that r was answered, if it was on the present connection. */
static void request_tell_proofs(zkl_session *s, const struct request *r,
                                const struct store_reply *reply)
{
    if (reply->rc >= STORE_BAD || r->connection != s->connection)
        return;
    s->confirmed = s->connection;
    s->hooks->answered(s, r->made ? PROOF_ANCHOR : proof_by_answer(r->proves, reply->rc), r->sent);
}

static void request_end_waiting(struct request *r, enum store_rc rc)
{
    const struct store_reply reply = {.rc = rc};

    r->parked = false;
    r->done(r, &reply);
    request_free(r);
}

static void request_on_held(void *data)
{
    struct request *r = data;

    g_queue_unlink(&r->session->held, &r->link);
    request_end_waiting(r, STORE_UNKNOWN);
}

static void request_answer(zkl_session *s, struct request *r, const struct store_reply *reply)
{
    const bool lost = reply->rc == STORE_UNKNOWN;

    if (lost && r->lost < UINT8_MAX)
        r->lost++;
    if (lost && !r->once) {
        r->repeated = true;
        request_park(s, r);
        request_retry_later(s);
        return;
    }
    if (lost && r->lost > LOST_BEFORE_PAUSE) {
        r->held = g_new0(struct timer, 1);
        g_queue_push_tail_link(&s->held, &r->link);
        timers_arm(s->timers, r->held, r->sent.boot + request_pause(r->lost), request_on_held, r);
    } else {
        r->done(r, reply);
        request_free(r);
    }
    if (!s->retry_timer.at)
        request_flush(s);
}

/* ---- creates on servers that do not know all operations: recipes/create_form.h decides ----
 *
 * A server answers a plain create without the stat. So an ephemeral node is read after its create,
 * and later requests wait until then: they are answered in the order in which they were asked for,
 * as always. */

bool request_is_ephemeral(const struct request *r)
{
    return r->what.mode == STORE_EPHEMERAL || r->what.mode == STORE_EPHEMERAL_SEQUENTIAL;
}

/* Fills in *what, the form in which the create r is sent. */
static void request_form(zkl_session *s, struct request *r, struct store_request *what)
{
    if (r->made) {
        *what = (struct store_request){.kind = STORE_STAT, .path = r->made};
        return;
    }
    r->op = create_forms_op(&s->forms, what->mode == STORE_CONTAINER);
    what->plain = r->op == CREATE_PLAIN;
    if (what->mode == STORE_CONTAINER && r->op != CREATE_CONTAINER)
        what->mode = STORE_PERSISTENT;
    s->creating = s->creating || (what->plain && request_is_ephemeral(r));
}

/* Takes back what request_form() has set: the create r could not be sent. */
static void request_form_unsent(zkl_session *s, struct request *r)
{
    if (r->op == CREATE_PLAIN && request_is_ephemeral(r))
        s->creating = false;
    g_clear_pointer(&r->made, g_free);
}

/* Learns from the answer to a create whether the servers know that form of it. An error that came
 * with the end of the session tells nothing, nor does one on a connection that still stands: only a
 * server, or the network, ends a connection in the middle. */
static void request_learn_form(zkl_session *s, const struct request *r, enum store_rc rc)
{
    bool changed = false;

    if (rc == STORE_UNIMPLEMENTED)
        changed = create_op_unknown(&s->forms, r->op);
    else if (rc < STORE_UNKNOWN)
        create_op_answered(&s->forms, r->op);
    else if (rc == STORE_UNKNOWN && r->connection != s->connection)
        changed = create_op_lost(&s->forms, r->op, r->connection, s->confirmed == r->connection);
    if (!changed)
        return;
    const bool plain = s->forms.form == FORM_PLAIN;
    log_line(s->log, ZKL_LOG_WARN, "old-servers", NULL,
             "the servers %s %s: %smissing directories become persistent nodes, which nobody "
             "removes",
             rc == STORE_UNIMPLEMENTED ? "do not know" : "seem not to know",
             plain ? "create2" : "containers", plain ? "new nodes are read once more, and " : "");
}

/* Makes the answer to the create r out of the stat that was read after it. If the node is missing,
 * or another session has it, that says nothing of the create: it was done, but the node may be gone
 * since. */
static void request_use_stat(const zkl_session *s, const struct request *r,
                             struct store_reply *reply)
{
    if (reply->rc == STORE_OK && create_is_own(reply->ephemeral_owner, s->id))
        *reply = (struct store_reply){.path = r->made,
                                      .czxid = reply->czxid,
                                      .mzxid = reply->czxid,
                                      .pzxid = reply->czxid,
                                      .ephemeral_owner = reply->ephemeral_owner,
                                      .ctime_ms = reply->ctime_ms,
                                      .mtime_ms = reply->ctime_ms,
                                      .data_length = r->what.length};
    else if (reply->rc != STORE_GONE)
        *reply = (struct store_reply){.rc = STORE_UNKNOWN};
}

/* Handles the answer to the create r, or to the read of its stat. Returns false if the stat is to
 * be read at once. Otherwise *reply becomes what the asker is told; its path is good until r is
 * freed. */
static bool request_form_answered(zkl_session *s, struct request *r, struct store_reply *reply)
{
    if (r->made) {
        request_use_stat(s, r, reply);
    } else {
        request_learn_form(s, r, reply->rc);
        /* Counts as lost: so it is sent again, in another form, after requests that were asked for
         * later. If .once is set, the recipe may rely on the order: then it is not sent again, and
         * the recipe is told STORE_UNKNOWN. */
        if (reply->rc == STORE_UNIMPLEMENTED)
            reply->rc = r->op == CREATE_PLAIN ? STORE_BAD : STORE_UNKNOWN;
        if (reply->rc == STORE_OK && r->op == CREATE_PLAIN && request_is_ephemeral(r)) {
            r->made = g_strdup(reply->path);
            return false;
        }
    }
    if (r->op == CREATE_PLAIN && request_is_ephemeral(r))
        s->creating = false;
    if (reply->rc != STORE_OK)
        g_clear_pointer(&r->made, g_free);
    return true;
}

/* ---- sent and answered ---- */

static bool request_submit_weighed(zkl_session *s, struct request *r);

static void request_on_reply(void *context, const struct store_reply *reply)
{
    struct request *r = context;
    zkl_session *s = r->session;
    struct store_reply told = *reply;
    /* A close ends a transaction before its answer, and then its changes are gone. */
    const bool taken_away = r->what.count > 0 && s->closing;

    PROBE(5, request_answered, r->what.path, s->id, (int)r->what.kind, (const void *)r,
          (int)reply->rc);
    request_count_answer(s, r, reply);
    request_tell_proofs(s, r, reply);
    if (r->what.kind == STORE_CREATE && !request_form_answered(s, r, &told)) {
        if (request_submit_weighed(s, r))
            return;
        told = (struct store_reply){.rc = STORE_UNKNOWN};
    }
    if (told.rc == STORE_UNIMPLEMENTED)
        told.rc = STORE_BAD;
    if (told.rc == STORE_NOAUTH && !taken_away) {
        const struct store_change *refused =
            r->what.count > 0 ? &r->what.changes[told.failed] : NULL;
        denial_note(s, refused ? refused->kind : r->what.kind,
                    refused ? refused->path : r->what.path, &told);
    }
    request_answer(s, r, &told);
}

static bool request_submit(zkl_session *s, struct request *r)
{
    struct store_request what = r->what;

    r->parked = false;
    r->sent = clock_now();
    r->connection = s->connection;
    if (what.kind == STORE_CREATE)
        request_form(s, r, &what);
    s->stats.requests++;
    s->stats.request_bytes += strlen(what.path) + (uint64_t)MAX(what.length, 0);
    for (int i = 0; i < what.count; i++)
        s->stats.request_bytes +=
            strlen(what.changes[i].path) + (uint64_t)MAX(what.changes[i].length, 0);
    PROBE(4, request_sent, what.path, s->id, (int)what.kind, (const void *)r);
    return s->ops->submit(s->store, &what, request_on_reply, r);
}

/* Submits r, and counts its weight before, since the answer may come before this returns. Returns
 * false if the store does not take it. */
static bool request_submit_weighed(zkl_session *s, struct request *r)
{
    unsigned weight = request_weigh(s, r);

    r->weight = weight;
    s->under_way += weight;
    if (request_submit(s, r))
        return true;
    s->under_way -= weight;
    r->weight = 0;
    if (r->what.kind == STORE_CREATE)
        request_form_unsent(s, r);
    return false;
}

static bool request_is_too_late(const zkl_session *s, const struct request *r)
{
    return r->only && r->connection != s->connection;
}

void request_send(zkl_session *s, struct request *r)
{
    r->session = s;
    r->number = s->asked++;
    if (s->closing || request_is_too_late(s, r)) {
        r->done(r, &(struct store_reply){.rc = s->closing ? STORE_GONE : STORE_UNKNOWN});
        request_free(r);
    } else if (!s->up || !g_queue_is_empty(&s->parked) || !request_has_room(s, r)) {
        request_park(s, r);
    } else if (!request_submit_weighed(s, r)) {
        request_put_back(s, r);
    }
}

bool request_try(zkl_session *s, struct request *r)
{
    r->session = s;
    if (s->up && request_submit(s, r))
        return true;
    request_free(r);
    return false;
}

/* Sends what is parked, as far as there is room. A request that is answered at once would re-enter
 * this function. */
static void request_flush(zkl_session *s)
{
    if (s->flushing)
        return;
    s->flushing = true;
    while (s->up && !g_queue_is_empty(&s->parked) && request_has_room(s, s->parked.head->data)) {
        struct request *r = g_queue_pop_head_link(&s->parked)->data;
        if (request_is_too_late(s, r)) {
            request_end_waiting(r, STORE_UNKNOWN);
        } else if (!request_submit_weighed(s, r)) {
            request_put_back(s, r);
            break;
        }
    }
    s->flushing = false;
}

int64_t request_late_until(const struct request *r, enum store_rc rc)
{
    const bool lost = rc >= STORE_UNKNOWN && r->sent.boot != 0;

    if (r->proves != PROOF_WRITE || (!lost && !r->repeated))
        return 0;
    /* The time counts by the servers' clocks, which ours may be ahead of. */
    const int64_t longest = MAX(LATE_NS, r->session->timeout_ms * CLOCK_MS);
    return clock_now().boot + longest + longest / 1000 * r->session->proofs.drift_permille;
}

void request_connected(zkl_session *s)
{
    if (request_losses(s) > LOST_BEFORE_PAUSE)
        request_retry_later(s);
    else
        request_flush(s);
}

void request_recall(struct request *r)
{
    if (!r->parked)
        return;
    g_queue_unlink(&r->session->parked, &r->link);
    request_end_waiting(r, STORE_BAD);
}

/* Drops the held requests, and then as many parked ones as there are at that point. The asker of a
 * dropped one may ask for another, which is for the next session and stays parked. */
void request_drop_all(zkl_session *s)
{
    timers_cancel(&s->retry_timer);
    while (!g_queue_is_empty(&s->held))
        request_end_waiting(g_queue_pop_head_link(&s->held)->data, STORE_GONE);
    for (guint n = s->parked.length; n > 0 && !g_queue_is_empty(&s->parked); n--)
        request_end_waiting(g_queue_pop_head_link(&s->parked)->data, STORE_GONE);
}
