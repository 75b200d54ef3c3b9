/* Removing the directory of a lock that nobody uses. */
#include "lib/base/error.h"
#include "lib/session/call.h"
#include "lib/session/request.h"
#include "recipes/head_hint.h"
#include "recipes/observe.h"

struct removal {
    struct call call;
};

static struct removal *removal_of(struct call *c)
{
    return (struct removal *)c;
}

/* The delete is sent once: before another one what stands there by then is looked at. */
static void ask(struct removal *removal, enum store_kind kind,
                void (*done)(struct request *r, const struct store_reply *reply))
{
    struct request *r = request_new(kind, g_strdup(removal->call.path), done, removal);

    call_ref(&removal->call);
    r->once = kind == STORE_DELETE;
    request_send(removal->call.session, r);
}

static void on_read(struct request *r, const struct store_reply *reply);

static void begin(struct removal *removal)
{
    if (!removal->call.ended)
        ask(removal, STORE_GET, on_read);
}

/* To either request; without an answer, or in the next session, it begins again. */
static void answered(struct removal *removal, enum store_rc rc)
{
    if (rc == STORE_OK || rc == STORE_NONODE)
        call_end(&removal->call, 0, NULL);
    else if (rc == STORE_UNKNOWN || rc == STORE_GONE)
        begin(removal);
    else
        call_end(&removal->call, call_error(rc), NULL);
    call_unref(&removal->call);
}

static void on_deleted(struct request *r, const struct store_reply *reply)
{
    answered(r->context, reply->rc);
}

/* No data, a head hint, or what a leader has proclaimed. */
static bool is_ours(const struct store_reply *reply)
{
    const size_t length = (size_t)MAX(reply->length, 0);
    uint64_t token;
    size_t at;

    return head_hint_read(reply->data, length, "") != HINT_FOREIGN ||
           observe_data(reply->data, length, &token, &at);
}

/* The delete refuses what has children by then. */
static void on_read(struct request *r, const struct store_reply *reply)
{
    struct removal *removal = r->context;

    if (removal->call.ended || reply->rc != STORE_OK) {
        answered(removal, reply->rc);
        return;
    }
    if (reply->children > 0)
        call_end(&removal->call, ZKL_ENOTEMPTY, NULL);
    else if (!is_ours(reply))
        call_end(&removal->call, ZKL_ELAYOUT, "its data is not of this library");
    else
        ask(removal, STORE_DELETE, on_deleted);
    call_unref(&removal->call);
}

static void on_begin(struct call *c)
{
    begin(removal_of(c));
}

static void on_stop(struct call *c, const zkl_error *why)
{
    call_end_as(c, why);
}

static void on_free(struct call *c)
{
    g_free(removal_of(c));
}

static const struct call_ops ops = {.begin = on_begin, .stop = on_stop, .free = on_free};

int zkl_queue_remove(zkl_session *s, const char *path, int64_t timeout_ms)
{
    int code = call_check(s, "zkl_queue_remove", path, true);
    struct removal *removal;

    if (code)
        return code;
    removal = g_new0(struct removal, 1);
    call_init(&removal->call, &ops, s, g_strconcat(s->chroot, path, NULL), NULL, NULL);
    return call_run(&removal->call, timeout_ms);
}
