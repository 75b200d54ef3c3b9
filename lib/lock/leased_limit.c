/* The limit of permits in Curator's layout, where it is the number of a counter: read under the
 * lock, so that it was in force after the acquisition had become the first in line, and followed
 * until all leases are admitted. */
#include "leased_state.h"
#include "lib/base/error.h"
#include "lib/session/denial.h"
#include "lib/session/request.h"
#include "multi_attempt.h"
#include "recipes/limit.h"

/* What was read; of no limit it is said why. */
static struct leasing_event to_event(struct leased *l, const struct request *r,
                                     const struct store_reply *reply)
{
    struct leasing_event ev = {.kind = LEASING_EV_LIMIT, .tag = r->tag};
    const char *path = session_path(l->session, r->what.path);

    if (reply->rc == STORE_OK &&
        limit_read_count(reply->data, (size_t)MAX(reply->length, 0), &ev.limit))
        return ev;
    ev.kind = LEASING_EV_NO_LIMIT;
    if (reply->rc == STORE_OK || reply->rc == STORE_NONODE)
        error_fill(&l->why, ZKL_ENOENT, path, "%s: %s", path,
                   reply->rc == STORE_OK ? "its data is no number of 4 bytes" : "no such counter");
    else
        denial_fill(l->session, &l->why, reply->rc == STORE_NOAUTH ? ZKL_EACCES : ZKL_EPROTO, path);
    return ev;
}

static void on_limit(struct request *r, const struct store_reply *reply)
{
    struct leased *l = r->context;

    watch_answered(l->session, r, reply, &l->limit);
    if (l->decided && r->tag == l->machine.tag && reply->rc != STORE_GONE) {
        const struct leasing_event ev = to_event(l, r, reply);
        leased_step(l, &ev);
    }
    leased_unref(l);
}

static void on_fired(void *context, bool gone)
{
    (void)gone;
    leased_step(context, &(struct leasing_event){.kind = LEASING_EV_LIMIT_FIRED});
}

static void too_much_watched(struct leased *l, uint32_t tag)
{
    const char *path = session_path(l->session, l->spec.counter);

    error_fill(&l->why, ZKL_ELIMIT, path, "%s: %s", path, zkl_strerror(ZKL_ELIMIT));
    leased_step(l, &(struct leasing_event){.kind = LEASING_EV_NO_LIMIT, .tag = tag});
}

void leased_ask_limit(struct leased *l, uint32_t tag)
{
    struct request *r = request_new(STORE_GET, g_strdup(l->spec.counter), on_limit, l);

    l->limit.fired = on_fired;
    l->limit.context = l;
    if (!watch_add(l->session, r, &l->limit)) {
        request_free(r);
        too_much_watched(l, tag);
        return;
    }
    l->refs++;
    r->tag = tag;
    request_send(l->session, r);
}

void leased_drop_limit(struct leased *l)
{
    watch_drop(&l->limit, false);
}

void leased_set_limit(struct leased *l)
{
    const struct part *p = &l->lease;

    if (p->several)
        multi_attempt_set_leases(p->several, l->machine.limit);
    else if (p->contender)
        contender_set_leases(p->contender, l->machine.limit);
}
