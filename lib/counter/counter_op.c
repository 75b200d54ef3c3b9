/* One operation on a counter, at the server: recipes/counter.h decides. */
#include <limits.h>
#include <string.h>

#include "counter_state.h"
#include "lib/base/error.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "lib/session/parents.h"
#include "lib/session/request.h"

struct op {
    struct call call;
    const zkl_counter *of; /* until it has ended */
    struct counter machine;
    enum counter_verdict verdict;
    bool absent;         /* the last read found no node */
    struct request *set; /* the one under way, while the machine is COUNTER_SETTING */
};

static struct op *op_of(struct call *c)
{
    return (struct op *)c;
}

static void step(struct op *op, struct counter_event ev);

/* ---- answers ---- */

static struct counter_event refusal(struct op *op, enum store_rc rc)
{
    if (rc == STORE_GONE)
        return (struct counter_event){.kind = COUNTER_EV_GONE};
    if (!op->call.ended) {
        zkl_session *s = op->call.session;
        char *text = denial_text(s, call_error(rc), session_path(s, op->call.path));

        error_fill(&op->call.error, call_error(rc), NULL, "%s", text);
        g_free(text);
    }
    return (struct counter_event){.kind = COUNTER_EV_REFUSED};
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    struct op *op = r->context;
    struct counter_event ev = {.kind = COUNTER_EV_NO_NODE};

    op->absent = reply->rc == STORE_NONODE;
    if (reply->rc == STORE_OK)
        ev = (struct counter_event){.kind = COUNTER_EV_VALUE,
                                    .data = reply->data,
                                    .length = (size_t)MAX(reply->length, 0),
                                    .version = reply->version,
                                    .czxid = reply->czxid};
    else if (!op->absent)
        ev = refusal(op, reply->rc);
    step(op, ev);
    call_unref(&op->call);
}

/* Nothing is asked of a server that lags. */
static void on_synced(struct request *r, const struct store_reply *reply)
{
    struct op *op = r->context;

    (void)reply;
    call_unref(&op->call);
}

static void on_set(struct request *r, const struct store_reply *reply)
{
    static const enum counter_event_kind kinds[] = {[STORE_OK] = COUNTER_EV_SET,
                                                    [STORE_NONODE] = COUNTER_EV_NO_NODE,
                                                    [STORE_BADVERSION] = COUNTER_EV_OUTDATED,
                                                    [STORE_UNKNOWN] = COUNTER_EV_UNKNOWN};
    struct op *op = r->context;
    struct counter_event ev = {COUNTER_EV_OUTDATED, .czxid = reply->czxid}; /* or never sent */

    if (reply->rc == STORE_OK || reply->rc == STORE_NONODE || reply->rc == STORE_BADVERSION ||
        reply->rc == STORE_UNKNOWN)
        ev.kind = kinds[reply->rc];
    else if (reply->rc != STORE_GONE || r->sent.boot != 0)
        ev = refusal(op, reply->rc);
    step(op, ev);
    call_unref(&op->call);
}

static void on_passed(struct request *r, const struct store_reply *reply)
{
    struct op *op = r->context;

    step(op, reply->rc < STORE_BAD ? (struct counter_event){.kind = COUNTER_EV_PASSED}
                                   : refusal(op, reply->rc));
    call_unref(&op->call);
}

/* ---- asking ---- */

static struct request *request_for(struct op *op, enum store_kind kind,
                                   void (*done)(struct request *r, const struct store_reply *reply))
{
    call_ref(&op->call);
    return request_new(kind, g_strdup(op->call.path), done, op);
}

static void set_data(struct request *r, const uint8_t *bytes, unsigned width)
{
    r->what.data = g_memdup2(bytes, width);
    r->what.length = (int)width;
}

static void ask_read(struct op *op)
{
    if (op->machine.goal == COUNTER_GET)
        request_send(op->call.session, request_for(op, STORE_SYNC, on_synced));
    request_send(op->call.session, request_for(op, STORE_GET, on_read));
}

static void ask_make(struct op *op);

static void on_parents(void *context, enum store_rc rc)
{
    struct op *op = context;

    if (rc == STORE_OK)
        ask_make(op);
    else
        step(op, refusal(op, rc));
    call_unref(&op->call);
}

static void on_made(struct request *r, const struct store_reply *reply)
{
    struct op *op = r->context;

    if (reply->rc == STORE_NONODE && !op->call.ended) {
        call_ref(&op->call);
        parents_make(op->call.session, op->call.path, STORE_CONTAINER, on_parents, op);
    } else if (reply->rc == STORE_OK || reply->rc == STORE_EXISTS) {
        step(op, (struct counter_event){.kind = COUNTER_EV_MADE});
    } else {
        step(op, refusal(op, reply->rc));
    }
    call_unref(&op->call);
}

/* Whoever makes it: it is then 0. */
static void ask_make(struct op *op)
{
    static const uint8_t zero[COUNTER_BYTES_MAX];
    struct request *r = request_for(op, STORE_CREATE, on_made);

    r->what.mode = STORE_PERSISTENT;
    set_data(r, zero, op->machine.width);
    request_send(op->call.session, r);
}

static void ask_set(struct op *op, const struct counter_action *a)
{
    struct request *r = request_for(op, STORE_SET, on_set);

    r->once = true; /* whether it was done is the recipe's to find out */
    r->what.version = a->version;
    set_data(r, a->bytes, op->machine.width);
    op->set = r;
    request_send(op->call.session, r);
}

/* Refused by the leader, as there is no such node: what was asked for before is done by then, but
 * for what comes late. (The counter itself comes to every version, if it is written long enough.)
 */
static void ask_pass(struct op *op)
{
    struct request *r;

    call_ref(&op->call);
    r = request_new(STORE_SET, g_strconcat(op->call.path, "/none", NULL), on_passed, op);
    r->what.version = INT_MAX;
    request_send(op->call.session, r);
}

static void end(struct op *op, const struct counter_action *a)
{
    op->verdict = a->verdict;
    call_end_as(&op->call, &op->call.error);
}

static void step(struct op *op, struct counter_event ev)
{
    struct counter_action a;

    if (!counter_step(&op->machine, &ev, &a))
        return;
    switch (a.kind) {
    case COUNTER_ACT_READ:
        ask_read(op);
        break;
    case COUNTER_ACT_MAKE:
        ask_make(op);
        break;
    case COUNTER_ACT_SET:
        ask_set(op, &a);
        break;
    case COUNTER_ACT_PASS:
        ask_pass(op);
        break;
    case COUNTER_ACT_END:
        end(op, &a);
        break;
    }
}

/* ---- its end ---- */

static void on_stop(struct call *c, const zkl_error *why)
{
    struct op *op = op_of(c);
    const bool unsent = op->machine.state == COUNTER_SETTING && op->set->sent.boot == 0;

    op->call.error = *why;
    step(op, (struct counter_event){.kind = COUNTER_EV_TIMEOUT, .unsent = unsent});
    if (unsent)
        request_recall(op->set);
}

static void on_begin(struct call *c)
{
    step(op_of(c), (struct counter_event){.kind = COUNTER_EV_BEGIN});
}

static const struct call_ops ops = {.begin = on_begin, .stop = on_stop};

int counter_result(const zkl_counter *c, enum counter_verdict verdict)
{
    static const struct {
        int code;
        const char *text;
    } results[] = {
        [COUNTER_MISMATCH] = {ZKL_EVERSION, "it is another number"},
        [COUNTER_OVERFLOW] = {ZKL_EOVERFLOW, "the new number does not fit"},
        [COUNTER_ODD] = {ZKL_ELAYOUT, "its data is no number of that many bytes"},
        [COUNTER_BUSY] = {ZKL_EBUSY, "other clients were faster, again and again"},
        [COUNTER_UNKNOWN] = {ZKL_EUNKNOWN, "it may or may not have been written"},
    };
    const char *path = session_path(c->session, c->path);

    if (verdict == COUNTER_DONE)
        return 0;
    return error_set(results[verdict].code, path, "%s: %s", path, results[verdict].text);
}

/* What is known when it has ended; the error of a refusal or of a time that passed is the call's.
 */
static int result(const zkl_counter *c, struct op *op, struct counter *wish)
{
    const char *path = session_path(c->session, c->path);

    *wish = op->machine;
    if (op->verdict != COUNTER_REFUSED && op->verdict != COUNTER_LATE)
        return counter_result(c, op->verdict);
    zkl_error why = op->call.error;
    return error_set(why.code, path, "%s: %s", path, why.text);
}

int counter_run(const zkl_counter *c, struct counter *wish, int64_t timeout_ms, bool *absent)
{
    struct op *op = g_new0(struct op, 1);

    op->machine = *wish;
    call_init(&op->call, &ops, c->session, g_strdup(c->path), NULL, NULL);
    call_ref(&op->call); /* for what is known then */
    call_run(&op->call, timeout_ms);
    int code = result(c, op, wish);
    if (absent)
        *absent = op->absent;
    call_free(&op->call);
    return code;
}
