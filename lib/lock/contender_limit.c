/* What a contender of a semaphore knows of the limit, and how it tells the next in line that it is
 * admitted. docs/design/permits.md has the argument. */
#include <stdlib.h>
#include <string.h>

#include "contender_state.h"
#include "lib/base/log.h"

void contender_use_limit(struct contender *c)
{
    const struct permit_limit *limit = contender_limit(c);

    c->machine.permits = (uint32_t)abs(c->rank);
    c->machine.has_limit = limit->initial > 0;
    c->machine.limit = limit->value;
    c->machine.limit_zxid = limit->session == c->session->id ? limit->zxid : 0;
}

char *contender_limit_text(const struct contender *c)
{
    const struct permit_limit *limit = contender_limit(c);

    if (!limit)
        return NULL;
    return g_strdup_printf("%d", limit->zxid ? limit->value : limit->initial);
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
        log_line(
            c->session->log, ZKL_LOG_WARN, "set-refused", session_path(c->session, r->what.path),
            "%s: cannot be set, so that the next in line waits until it is gone", r->what.path);
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
