/* What a contender of a semaphore does with the limit, and how it tells the next in line that it is
 * admitted. docs/design/permits.md has the argument. */
#include <stdlib.h>
#include <string.h>

#include "contender_requests.h"
#include "lib/base/log.h"
#include "recipes/limit.h"

/* Thousands of a mutex may wait, and have none of this. */
struct lease {
    struct contender contender;
    struct permit_limit *limit; /* an rc_box */
};

struct contender *contender_new(struct permit_limit *limit)
{
    if (!limit)
        return g_new0(struct contender, 1);
    struct lease *lease = g_new0(struct lease, 1);
    lease->limit = g_rc_box_acquire(limit);
    return &lease->contender;
}

struct permit_limit *contender_limit(const struct contender *c)
{
    return c->machine.kind == CHILD_LEASE ? ((const struct lease *)c)->limit : NULL;
}

void contender_free(struct contender *c)
{
    if (contender_limit(c))
        g_rc_box_release(contender_limit(c));
    g_free(c);
}

void contender_use_limit(struct contender *c)
{
    const struct permit_limit *limit = contender_limit(c);

    c->machine.permits = (uint32_t)abs(c->rank);
    c->machine.has_limit = limit->initial > 0;
    c->machine.limit = limit->value;
    c->machine.limit_zxid = limit->zxid;
}

char *contender_limit_text(const struct contender *c)
{
    const struct permit_limit *limit = contender_limit(c);

    if (!limit)
        return NULL;
    return g_strdup_printf("%d", limit->zxid ? limit->value : limit->initial);
}

/* ---- the limit ---- */

static void ask_data(struct contender *c, uint32_t tag, bool watch);

static void on_limit_written(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;

    if (reply->rc == STORE_OK || reply->rc == STORE_BADVERSION)
        ask_data(c, r->tag, r->what.watch);
    else if (reply->rc != STORE_GONE)
        contender_step(c, &(struct event){.kind = EV_LIMIT_READ,
                                          .answer = contender_to_answer(reply->rc),
                                          .tag = r->tag});
    contender_unref(c);
}

static void write_limit(struct contender *c, uint32_t tag, int32_t version, bool watch)
{
    struct request *r = contender_request(c, STORE_SET, g_strdup(admission_path(c->admission)),
                                          on_limit_written, tag);

    r->what.data = g_strdup_printf("%d", contender_limit(c)->initial);
    r->what.length = (int)strlen(r->what.data);
    r->what.version = version;
    r->what.watch = watch; /* for the read behind it: a set leaves none */
    request_send(c->session, r);
}

static void on_data(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;
    struct permit_limit *limit = contender_limit(c);
    struct event ev = {.kind = EV_LIMIT_READ, .data_zxid = reply->mzxid};

    if (r->what.watch)
        watch_answered(c->session, r, reply, &c->head->limit_subscription);
    if (reply->rc == STORE_OK && reply->length == 0 && limit->initial > 0) {
        write_limit(c, r->tag, reply->version, r->what.watch);
        contender_unref(c);
        return;
    }
    if (reply->rc == STORE_OK)
        ev.limit = limit_read(reply->data, (size_t)reply->length);
    if (ev.limit > 0) {
        limit->value = ev.limit;
        limit->zxid = reply->mzxid;
    }
    contender_answer(r, reply, &ev);
}

static void ask_data(struct contender *c, uint32_t tag, bool watch)
{
    struct request *r =
        contender_request(c, STORE_GET, g_strdup(admission_path(c->admission)), on_data, tag);

    if (!watch ||
        contender_leave_watch(c, r, &contender_head(c)->limit_subscription, EV_LIMIT_READ))
        request_send(c->session, r);
}

void contender_ask_limit(struct contender *c, const struct action *a)
{
    ask_data(c, a->tag, a->watch);
}

void contender_unwatch_limit(struct contender *c)
{
    watch_drop(&c->head->limit_subscription, false);
}

/* ---- the touch ---- */

static void set_own(struct contender *c, char *path, const char *data, int length, int32_t version);

static void on_own_data(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;

    if (reply->rc == STORE_OK)
        set_own(c, g_strdup(r->what.path), reply->data, reply->length, reply->version);
    contender_unref(c);
}

/* Somebody else has written there, or our own set was done and its answer lost. */
static void on_own_set(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;

    if (reply->rc == STORE_BADVERSION)
        request_send(c->session,
                     contender_request(c, STORE_GET, g_strdup(r->what.path), on_own_data, 0));
    else if (reply->rc == STORE_NOAUTH || reply->rc == STORE_BAD)
        log_line(c->session->log, ZKL_LOG_WARN,
                 "%s: cannot be set, so that the next in line waits until it is gone",
                 r->what.path);
    contender_unref(c);
}

static void set_own(struct contender *c, char *path, const char *data, int length, int32_t version)
{
    struct request *r = contender_request(c, STORE_SET, path, on_own_set, 0);

    r->what.data = g_memdup2(data, (gsize)length);
    r->what.length = length;
    r->what.version = version;
    request_send(c->session, r);
}

void contender_touch(struct contender *c)
{
    set_own(c, contender_node(c), c->payload, (int)strlen(c->payload), 0);
}
