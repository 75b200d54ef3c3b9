/* What an attempt does with its directory: makes it, reads a semaphore's limit in it, leaves head
 * hints there, and gives it up when its numbers are used up. */
#include <string.h>

#include "contender_state.h"
#include "locks.h"
#include "recipes/limit.h"
#include "recipes/observe.h"

/* ---- the directory and its parents ---- */

/* The last one's answer counts; but if it could not be made for want of a parent, the reason is
 * what stopped the first of them. */
static void on_parent(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;
    enum answer got = contender_to_answer(reply->rc);
    bool good = got == ANSWER_OK || got == ANSWER_EXISTS;

    if (!good && c->parents_answer == ANSWER_OK) {
        c->parents_answer = got;
        c->blame = (unsigned)strlen(r->what.path);
    }
    if (--c->parents_left > 0 || reply->rc == STORE_GONE) {
        contender_unref(c);
        return;
    }
    struct event ev = {
        .kind = EV_PARENTS_MADE, .answer = good ? ANSWER_OK : c->parents_answer, .tag = r->tag};
    contender_step(c, &ev);
    contender_unref(c);
}

static void ask_parents(struct contender *c, uint32_t tag)
{
    const char *directory = admission_path(c->admission);

    c->parents_answer = ANSWER_OK;
    for (const char *at = directory; at; at = strchr(at + 1, '/'))
        c->parents_left++;
    char *limit = contender_limit_text(c);
    for (const char *at = directory; at;) {
        at = strchr(at + 1, '/');
        size_t length = at ? (size_t)(at - directory) : strlen(directory);
        struct request *r =
            contender_request(c, STORE_CREATE, g_strndup(directory, length), on_parent, tag);
        r->what.mode = c->parents == ZKL_PARENTS_CONTAINER ? STORE_CONTAINER : STORE_PERSISTENT;
        if (!at && limit) { /* which is not to go with an empty directory */
            r->what.mode = STORE_PERSISTENT;
            r->what.length = (int)strlen(limit);
            r->what.data = g_steal_pointer(&limit);
        }
        request_send(c->session, r);
    }
    g_free(limit);
}

static void on_reset(struct request *r, const struct store_reply *reply)
{
    contender_answer(r, reply, &(struct event){.kind = EV_RESET});
}

/* Nothing but what a leader has proclaimed, or the head hint of one that was the head, if that. */
static bool is_unused(const struct store_reply *reply)
{
    uint64_t token;
    size_t at;

    return reply->children == 0 &&
           (head_hint_read(reply->data, (size_t)reply->length, "") != HINT_FOREIGN ||
            observe_data(reply->data, (size_t)reply->length, &token, &at));
}

/* The limit that an answered read of the directory shows, which is known from here on; 0: none. */
static int32_t take_limit(const struct contender *c, const struct store_reply *reply)
{
    struct permit_limit *limit = contender_limit(c);
    const int32_t value = limit_read(reply->data, (size_t)reply->length);

    if (value > 0) {
        limit->value = value;
        limit->zxid = reply->mzxid;
        limit->session = c->session->id;
    }
    return value;
}

/* The server does not tell a container from a persistent node: what we would make as a container,
 * and is as empty as one we made, may go. So may a semaphore's, which is made again with this
 * limit. */
static bool may_go(const struct contender *c, const struct store_reply *reply)
{
    if (contender_limit(c))
        return reply->children == 0 && c->machine.has_limit && take_limit(c, reply) > 0;
    return c->parents == ZKL_PARENTS_CONTAINER && is_unused(reply);
}

static void on_directory_read(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;

    if (reply->rc == STORE_OK && may_go(c, reply)) {
        request_send(c->session,
                     contender_request(c, STORE_DELETE, g_strdup(admission_path(c->admission)),
                                       on_reset, r->tag));
        contender_unref(c);
        return;
    }
    struct store_reply verdict = *reply;
    if (verdict.rc == STORE_OK)
        verdict.rc = STORE_NOTEMPTY;
    on_reset(r, &verdict);
}

static void reset(struct contender *c, uint32_t tag)
{
    request_send(c->session, contender_request(c, STORE_GET, g_strdup(admission_path(c->admission)),
                                               on_directory_read, tag));
}

/* ---- the limit of a semaphore: where there are no data, the one to begin with is written ---- */

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
    struct event ev = {.kind = EV_LIMIT_READ, .data_zxid = reply->mzxid};

    if (r->what.watch)
        watch_answered(c->session, r, reply, &c->head->limit_subscription);
    if (reply->rc == STORE_OK && reply->length == 0 && contender_limit(c)->initial > 0) {
        write_limit(c, r->tag, reply->version, r->what.watch);
        contender_unref(c);
        return;
    }
    if (reply->rc == STORE_OK)
        ev.limit = take_limit(c, reply);
    contender_answer(r, reply, &ev);
}

/* The attempt may have ended while the limit was written: a watch would outlive it. */
static void ask_data(struct contender *c, uint32_t tag, bool watch)
{
    struct request *r;

    if (c->retired)
        return;
    r = contender_request(c, STORE_GET, g_strdup(admission_path(c->admission)), on_data, tag);
    if (!watch ||
        contender_leave_watch(c, r, &contender_head(c)->limit_subscription, EV_LIMIT_READ))
        request_send(c->session, r);
}

/* ---- head hints ---- */

/* How long a directory that refused one is left in peace. */
#define HINT_REFUSED_NS (60000 * CLOCK_MS)

static void on_hint_read(struct request *r, const struct store_reply *reply)
{
    const struct contender *c = r->context;
    const char *name = strrchr(c->predecessor, '/') + 1;

    contender_answer(
        r, reply,
        &(struct event){.kind = EV_HINT_READ,
                        .count = (size_t)reply->children,
                        .version = reply->version,
                        .hint = head_hint_read(reply->data, (size_t)reply->length, name)});
}

static void read_hint(struct contender *c, uint32_t tag)
{
    request_send(c->session, contender_request(c, STORE_GET, g_strdup(admission_path(c->admission)),
                                               on_hint_read, tag));
}

/* Another's hint may have come first, or none be there any more to make room for: no matter. */
static void on_hint_set(struct request *r, const struct store_reply *reply)
{
    struct locks *all = r->context;

    if (reply->rc == STORE_NOAUTH || reply->rc == STORE_BAD) {
        const int64_t until = clock_now().boot + HINT_REFUSED_NS;
        session_forget_many(all->hint_refused);
        g_hash_table_replace(all->hint_refused, g_strdup(r->what.path),
                             g_memdup2(&until, sizeof until));
    }
}

static bool may_set_hint(const struct contender *c)
{
    const int64_t *until = g_hash_table_lookup(admission_locks(c->admission)->hint_refused,
                                               admission_path(c->admission));

    return !until || *until <= clock_now().boot;
}

/* Tried once, and now: a hint that comes late helps nobody. */
static void set_hint(struct contender *c, int32_t version)
{
    struct request *r;

    if (!may_set_hint(c))
        return;
    r = request_new(STORE_SET, g_strdup(admission_path(c->admission)), on_hint_set,
                    admission_locks(c->admission));
    r->once = true;
    char *name = contender_name(c);
    r->what.data = g_strconcat(HINT_WORDS, name, NULL);
    g_free(name);
    r->what.length = (int)strlen(r->what.data);
    r->what.version = version;
    request_try(c->session, r);
}

void contender_ask_directory(struct contender *c, const struct action *a)
{
    switch (a->kind) {
    case ACT_PARENTS:
        ask_parents(c, a->tag);
        break;
    case ACT_RESET:
        reset(c, a->tag);
        break;
    case ACT_READ_LIMIT:
        ask_data(c, a->tag, a->watch);
        break;
    case ACT_READ_HINT:
        read_hint(c, a->tag);
        break;
    case ACT_SET_HINT:
        set_hint(c, a->number);
        break;
    default:
        g_assert_not_reached();
    }
}
