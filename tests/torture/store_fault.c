#include "store_fault.h"

#include <glib.h>
#include <limits.h>
#include <string.h>

#include "store_stage.h"
#include "world/world.h"

const char *const way_names[WAYS] = {
    [WAY_NONE] = "none",
    [WAY_NOT_SENT] = "not sent",
    [WAY_UNKNOWN_UNDONE] = "unknown, not done",
    [WAY_UNKNOWN_DONE] = "unknown, done",
    [WAY_BREAK_BEFORE] = "connection lost before",
    [WAY_BREAK_AFTER] = "connection lost after",
    [WAY_LATE] = "late",
    [WAY_LATE_AT_LAST] = "late, at last",
    [WAY_NOAUTH] = "no permission",
    [WAY_BAD] = "bad",
    [WAY_BAD_AT_ONCE] = "bad at once",
    [WAY_NONODE] = "no node",
    [WAY_EXPIRED_BEFORE] = "expired before",
    [WAY_EXPIRED_BEHIND] = "expired behind",
};

static struct {
    enum way way;
    unsigned nth, count;
    bool reached, running;
    enum way lost_create;
    enum store_kind kind;
} fault;

void store_fault_set(enum way way, unsigned nth)
{
    fault.way = way;
    fault.nth = nth;
    fault.count = 0;
    fault.reached = false;
    fault.running = true;
    fault.lost_create = WAY_NONE;
}

void store_fault_lose_create(bool done)
{
    fault.lost_create = done ? WAY_UNKNOWN_DONE : WAY_UNKNOWN_UNDONE;
}

void store_fault_end(void)
{
    fault.running = false;
}

unsigned store_fault_count(void)
{
    return fault.count;
}

bool store_fault_reached(void)
{
    return fault.reached;
}

enum store_kind store_fault_kind(void)
{
    return fault.kind;
}

static enum way next_way(const struct store_request *r)
{
    enum way lost = fault.lost_create;

    if (!fault.running)
        return WAY_NONE;
    if (lost && r->kind == STORE_CREATE && r->mode == STORE_EPHEMERAL_SEQUENTIAL) {
        fault.lost_create = WAY_NONE;
        return lost;
    }
    if (++fault.count != fault.nth)
        return WAY_NONE;
    fault.reached = true;
    fault.kind = r->kind;
    return fault.way;
}

/* ---- answers ---- */

struct asked {
    store_done done;
    void *context;
    enum way way;
    int64_t session;
    int last; /* of a STORE_MULTI's changes */
};

static void on_answer(void *context, const struct store_reply *reply)
{
    static const enum store_rc codes[WAYS] = {
        [WAY_UNKNOWN_UNDONE] = STORE_UNKNOWN,
        [WAY_UNKNOWN_DONE] = STORE_UNKNOWN,
        [WAY_NOAUTH] = STORE_NOAUTH,
        [WAY_BAD] = STORE_BAD,
    };
    struct asked *a = context;
    struct store_reply told = {.rc = codes[a->way], .failed = a->way == WAY_NOAUTH ? a->last : 0};
    bool lost = reply->rc == STORE_GONE || reply->rc == STORE_UNKNOWN;

    if (a->way == WAY_EXPIRED_BEHIND && !lost)
        stage_expire(a->session);
    a->done(a->context, lost || a->way == WAY_EXPIRED_BEHIND ? reply : &told);
    g_free(a);
}

/* What is sent for a request that shall have no effect: so its answer comes in its place, and a
 * write is one. */
static struct store_request stand_in(enum store_kind kind)
{
    bool writes =
        kind == STORE_CREATE || kind == STORE_DELETE || kind == STORE_SET || kind == STORE_MULTI;

    return (struct store_request){
        .kind = writes ? STORE_SET : STORE_GET, .path = "/zookeeper/none", .version = INT_MAX};
}

static bool submit_replaced(struct store *store, const struct store_request *r, store_done done,
                            void *context, enum way way)
{
    struct asked *a = g_new(struct asked, 1);
    struct store_request other = stand_in(r->kind);
    bool real = way == WAY_UNKNOWN_DONE || way == WAY_EXPIRED_BEHIND;

    *a = (struct asked){done, context, way, stage_session_id(), MAX(r->count - 1, 0)};
    if (world_store.submit(store, real ? r : &other, on_answer, a))
        return true;
    g_free(a);
    return false;
}

/* Long enough for a connection and a repetition. */
enum { SOON_MS = 1000 };

static bool submit_breaking(struct store *store, const struct store_request *r, store_done done,
                            void *context, enum way way)
{
    stage.cut_off = true;
    world_break_at(host_entered(), 1, way == WAY_BREAK_AFTER);
    if (way_is_late(way))
        world_hold_back(host_entered(), way == WAY_LATE ? SOON_MS : WORLD_LATE_MS);
    bool sent = world_store.submit(store, r, done, context);
    world_break_at(host_entered(), 0, false); /* answered without sending it */
    return sent;
}

static bool submit_expiring(struct store *store, const struct store_request *r, store_done done,
                            void *context)
{
    bool sent = world_store.submit(store, r, done, context);

    stage_expire(stage_session_id());
    return sent;
}

/* The node that the request needs. */
static void remove_needed(const struct store_request *r)
{
    char *path = r->kind == STORE_CREATE ? g_path_get_dirname(r->path) : g_strdup(r->path);

    if (strcmp(path, "/") != 0 && !g_str_has_prefix(path, "/zookeeper"))
        stage_admin_delete(path);
    g_free(path);
}

static bool submit(struct store *store, const struct store_request *r, store_done done,
                   void *context)
{
    enum way way = next_way(r);

    switch (way) {
    case WAY_NONODE:
        remove_needed(r);
        /* fall through */
    case WAY_NONE:
        return world_store.submit(store, r, done, context);
    case WAY_NOT_SENT:
        return false;
    case WAY_BAD_AT_ONCE:
        done(context, &(struct store_reply){.rc = STORE_BAD});
        return true;
    case WAY_BREAK_BEFORE:
    case WAY_BREAK_AFTER:
    case WAY_LATE:
    case WAY_LATE_AT_LAST:
        return submit_breaking(store, r, done, context, way);
    case WAY_EXPIRED_BEFORE:
        return submit_expiring(store, r, done, context);
    default:
        return submit_replaced(store, r, done, context, way);
    }
}

static int open_store(struct store **ret, const struct store_config *config,
                      const struct store_sink *sink)
{
    return world_store.open(ret, config, sink);
}

static void close_store(struct store *store)
{
    world_store.close(store);
}

static void *borrow(struct store *store)
{
    return world_store.borrow(store);
}

static void give_back(struct store *store)
{
    world_store.give_back(store);
}

const struct store_ops fault_store = {open_store, submit, close_store, borrow, give_back,
                                      NULL,       NULL,   NULL,        NULL};
