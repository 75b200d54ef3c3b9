#include "request.h"

#include <string.h>

#include "creating.h"
#include "denial.h"
#include "lib/base/probes.h"
#include "proof_chain.h"

#define RETRY_NS (100 * CLOCK_MS)

/* What may be under way at once, in requests of the usual size: enough to keep a server busy, and
 * handled in a small part of a session timeout. A list weighs as much as so many names of it do. */
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
    g_free(r);
}

static void on_retry(void *data)
{
    zkl_session *s = data;

    if (s->up)
        request_flush(s);
}

/* In the order in which they were asked for: what was under way when the connection went comes
 * before what was not sent yet. */
static void park(zkl_session *s, struct request *r)
{
    const struct request *last = s->parked.tail ? s->parked.tail->data : NULL;
    GList *next = last && last->number > r->number ? s->parked.head : NULL;

    while (next && ((struct request *)next->data)->number < r->number)
        next = next->next;
    r->parked = true;
    g_queue_insert_before_link(&s->parked, next, &r->link);
}

/* Not at once: what failed on a standing connection would fail again. */
static void retry_later(zkl_session *s)
{
    if (s->up && !s->retry_timer.at)
        timers_arm(s->timers, &s->retry_timer, clock_now().boot + RETRY_NS, on_retry, s);
}

/* The store has not taken it, so nothing of it was sent. */
static void put_back(zkl_session *s, struct request *r)
{
    if (!r->repeated)
        r->sent = (struct instant){.boot = 0};
    park(s, r);
    retry_later(s);
}

/* ---- what is under way ---- */

static uint32_t *listed_at(zkl_session *s, const struct request *r)
{
    return &s->listed[g_str_hash(r->what.path) % G_N_ELEMENTS(s->listed)];
}

static unsigned weigh(zkl_session *s, const struct request *r)
{
    return r->what.kind == STORE_LIST ? 1 + *listed_at(s, r) / NAMES_EACH : 1;
}

static bool has_room(zkl_session *s, const struct request *r)
{
    if (s->creating)
        return false;
    return s->under_way == 0 || s->under_way + weigh(s, r) <= WINDOW;
}

static void count_sent(zkl_session *s, const struct store_request *what)
{
    s->stats.requests++;
    s->stats.request_bytes += strlen(what->path) + (uint64_t)MAX(what->length, 0);
    for (int i = 0; i < what->count; i++)
        s->stats.request_bytes +=
            strlen(what->changes[i].path) + (uint64_t)MAX(what->changes[i].length, 0);
}

static void count_answered(zkl_session *s, const struct store_reply *reply)
{
    if (reply->rc >= STORE_UNKNOWN)
        return;
    s->stats.answers++;
    s->stats.answer_bytes +=
        (uint64_t)MAX(reply->length, 0) + (reply->path ? strlen(reply->path) : 0);
    for (int i = 0; i < reply->count; i++)
        s->stats.answer_bytes += strlen(reply->names[i]);
}

static void come_back(zkl_session *s, struct request *r, const struct store_reply *reply)
{
    count_answered(s, reply);
    s->under_way -= r->weight;
    r->weight = 0;
    if (r->what.kind == STORE_LIST && reply->rc < STORE_UNKNOWN)
        *listed_at(s, r) = (uint32_t)reply->count;
}

static void prove(zkl_session *s, const struct request *r, const struct store_reply *reply)
{
    if (reply->rc >= STORE_BAD || r->connection != s->connection)
        return;
    s->confirmed = s->connection;
    proof_chain_proved(s, r->made ? PROOF_ANCHOR : r->proves, r->sent);
}

static void answer(zkl_session *s, struct request *r, const struct store_reply *reply)
{
    if (reply->rc == STORE_UNKNOWN && !r->once) {
        r->repeated = true;
        park(s, r);
        retry_later(s);
        return;
    }
    r->done(r, reply);
    request_free(r);
    if (!s->retry_timer.at)
        request_flush(s);
}

static bool submit_weighed(zkl_session *s, struct request *r);

static void note_denial(zkl_session *s, const struct store_request *what,
                        const struct store_reply *reply)
{
    const struct store_change *refused = what->count > 0 ? &what->changes[reply->failed] : NULL;

    denial_note(s, refused ? refused->kind : what->kind, refused ? refused->path : what->path,
                reply);
}

static void on_reply(void *context, const struct store_reply *reply)
{
    struct request *r = context;
    zkl_session *s = r->session;
    struct store_reply told = *reply;

    PROBE(5, request_answered, r->what.path, s->id, (int)r->what.kind, (const void *)r,
          (int)reply->rc);
    come_back(s, r, reply);
    prove(s, r, reply);
    if (r->what.kind == STORE_CREATE && !creating_answered(s, r, &told)) {
        if (submit_weighed(s, r))
            return;
        told = (struct store_reply){.rc = STORE_UNKNOWN};
    }
    if (told.rc == STORE_UNIMPLEMENTED)
        told.rc = STORE_BAD;
    if (told.rc == STORE_NOAUTH)
        note_denial(s, &r->what, &told);
    answer(s, r, &told);
}

static bool submit(zkl_session *s, struct request *r)
{
    struct store_request what = r->what;

    r->parked = false;
    r->sent = clock_now();
    r->connection = s->connection;
    if (what.kind == STORE_CREATE)
        creating_send(s, r, &what);
    count_sent(s, &what);
    PROBE(4, request_sent, what.path, s->id, (int)what.kind, (const void *)r);
    return s->ops->submit(s->store, &what, on_reply, r);
}

/* Its answer may come before this returns. */
static bool submit_weighed(zkl_session *s, struct request *r)
{
    unsigned weight = weigh(s, r);

    r->weight = weight;
    s->under_way += weight;
    if (submit(s, r))
        return true;
    s->under_way -= weight;
    r->weight = 0;
    if (r->what.kind == STORE_CREATE)
        creating_unsent(s, r);
    return false;
}

static bool is_too_late(const zkl_session *s, const struct request *r)
{
    return r->only && r->connection != s->connection;
}

void request_send(zkl_session *s, struct request *r)
{
    r->session = s;
    r->number = s->asked++;
    if (s->closing || is_too_late(s, r)) {
        r->done(r, &(struct store_reply){.rc = s->closing ? STORE_GONE : STORE_UNKNOWN});
        request_free(r);
    } else if (!s->up || !g_queue_is_empty(&s->parked) || !has_room(s, r)) {
        park(s, r);
    } else if (!submit_weighed(s, r)) {
        put_back(s, r);
    }
}

bool request_try(zkl_session *s, struct request *r)
{
    r->session = s;
    if (s->up && submit(s, r))
        return true;
    request_free(r);
    return false;
}

static void end_parked(struct request *r, enum store_rc rc)
{
    const struct store_reply reply = {.rc = rc};

    r->parked = false;
    r->done(r, &reply);
    request_free(r);
}

/* One that is answered at once would flush in turn. */
void request_flush(zkl_session *s)
{
    if (s->flushing)
        return;
    s->flushing = true;
    while (s->up && !g_queue_is_empty(&s->parked) && has_room(s, s->parked.head->data)) {
        struct request *r = g_queue_pop_head_link(&s->parked)->data;
        if (is_too_late(s, r)) {
            end_parked(r, STORE_UNKNOWN);
        } else if (!submit_weighed(s, r)) {
            put_back(s, r);
            break;
        }
    }
    s->flushing = false;
}

void request_recall(struct request *r)
{
    if (!r->parked)
        return;
    g_queue_unlink(&r->session->parked, &r->link);
    end_parked(r, STORE_BAD);
}

/* Some ask again at once, for the session to come: only what is there now is dropped. */
void request_drop_all(zkl_session *s)
{
    timers_cancel(&s->retry_timer);
    for (guint n = s->parked.length; n > 0 && !g_queue_is_empty(&s->parked); n--)
        end_parked(g_queue_pop_head_link(&s->parked)->data, STORE_GONE);
}
