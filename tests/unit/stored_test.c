/* All that the library stores, byte by byte. Each writer is a use of the library over a store that
 * keeps nodes; what that makes and sets must be the writer's rows of stored.txt, in this order.
 * What the library reads from a row is its last column. docs/stored.md says what follows from a
 * form that is not known. */
#include "by_hand.h"
#include "runner.h"

#include <string.h>

#include "lib/base/acl.h"
#include "lib/base/layout.h"
#include "lib/contender/contender.h"
#include "lib/member/members.h"
#include "recipes/barrier.h"
#include "recipes/counter.h"
#include "recipes/head_hint.h"
#include "recipes/limit.h"
#include "recipes/name.h"
#include "recipes/observe.h"
#include "recipes/once.h"
#include "recipes/payload.h"
#include "recipes/shards.h"

TEST_SUITE(stored);

enum { COLUMNS = 5, NOW_MS = 1700000000 };

/* ---- a store that keeps nodes ---- */

struct kept {
    char *path;
    GBytes *data; /* NULL: none was given */
    int32_t version;
    uint64_t czxid, mzxid, pzxid;
    bool ephemeral;
    int made; /* children so far */
};

static struct {
    GPtrArray *nodes; /* of struct kept */
    uint64_t zxid;
    GString *rows; /* what was made and set, a row each */
    char *path;    /* of the last answer */
    GPtrArray *names;
} kept;

static void kept_free(gpointer node)
{
    struct kept *k = node;

    g_free(k->path);
    g_bytes_unref(k->data);
    g_free(k);
}

static struct kept *kept_find(const char *path)
{
    for (guint i = 0; i < kept.nodes->len; i++) {
        struct kept *k = kept.nodes->pdata[i];
        if (strcmp(k->path, path) == 0)
            return k;
    }
    return NULL;
}

static struct kept *kept_parent(const char *path)
{
    char *parent = g_path_get_dirname(path);
    struct kept *k = kept_find(parent);

    g_free(parent);
    return k;
}

static struct kept *kept_add(const char *path)
{
    struct kept *k = g_new0(struct kept, 1);

    k->path = g_strdup(path);
    k->czxid = k->mzxid = k->pzxid = kept.zxid;
    g_ptr_array_add(kept.nodes, k);
    return k;
}

/* What is no ASCII, a backslash and a bar are written as "\x5c". */
static void stored_append(GString *row, const char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)data[i];
        if (c == '\n')
            g_string_append(row, "\\n");
        else if (c < ' ' || c > '~' || c == '\\' || c == '|')
            g_string_append_printf(row, "\\x%02x", c);
        else
            g_string_append_c(row, (char)c);
    }
}

/* Without the session's chroot. */
static void kept_note(const char *how, const struct kept *k)
{
    gsize length = 0;
    const char *data = k->data ? g_bytes_get_data(k->data, &length) : NULL;

    g_string_append_printf(kept.rows, "%s | %s | ", how, k->path + strlen("/root"));
    if (!k->data)
        g_string_append(kept.rows, "(none)");
    else
        stored_append(kept.rows, data, length);
    g_string_append_c(kept.rows, '\n');
}

static void kept_write(struct kept *k, const char *data, int length)
{
    g_clear_pointer(&k->data, g_bytes_unref);
    k->data = data ? g_bytes_new(data, (gsize)MAX(length, 0)) : NULL;
    k->mzxid = kept.zxid;
}

static enum store_rc kept_create(const char *path, enum store_mode mode, const char *data,
                                 int length)
{
    static const char *const how[] = {[STORE_PERSISTENT] = "persistent",
                                      [STORE_CONTAINER] = "container",
                                      [STORE_EPHEMERAL] = "ephemeral",
                                      [STORE_EPHEMERAL_SEQUENTIAL] = "ephemeral sequential"};
    struct kept *parent = kept_parent(path);
    char number[NAME_NUMBER_SIZE] = "";

    if (!parent)
        return STORE_NONODE;
    if (kept_find(path))
        return STORE_EXISTS;
    kept.zxid++;
    parent->pzxid = kept.zxid;
    if (mode == STORE_EPHEMERAL_SEQUENTIAL)
        name_write_number(number, parent->made);
    parent->made++;
    g_free(kept.path);
    kept.path = g_strconcat(path, number, NULL);
    struct kept *k = kept_add(kept.path);
    k->ephemeral = mode == STORE_EPHEMERAL || mode == STORE_EPHEMERAL_SEQUENTIAL;
    kept_write(k, data, length);
    kept_note(how[mode], k);
    return STORE_OK;
}

static enum store_rc kept_set(const char *path, int32_t version, const char *data, int length)
{
    struct kept *k = kept_find(path);

    if (!k)
        return STORE_NONODE;
    if (version >= 0 && version != k->version)
        return STORE_BADVERSION;
    kept.zxid++;
    k->version++;
    kept_write(k, data, length);
    kept_note("set", k);
    return STORE_OK;
}

static enum store_rc kept_delete(const char *path)
{
    struct kept *k = kept_find(path);

    if (!k)
        return STORE_NONODE;
    g_ptr_array_remove(kept.nodes, k);
    return STORE_OK;
}

/* Nothing is refused half-way: the writers ask for what can be done. */
static enum store_rc kept_change(const struct store_request *r, int *ret_failed)
{
    for (int i = 0; i < r->count; i++) {
        const struct store_change *c = &r->changes[i];
        enum store_rc rc = STORE_OK;
        *ret_failed = i;
        if (c->kind == STORE_CREATE)
            rc = kept_create(c->path, STORE_PERSISTENT, c->data, c->length);
        else if (c->kind == STORE_SET)
            rc = kept_set(c->path, c->version, c->data, c->length);
        else if (c->kind == STORE_DELETE)
            rc = kept_delete(c->path);
        if (rc != STORE_OK)
            return rc;
    }
    return STORE_OK;
}

static void kept_list(const char *path)
{
    g_ptr_array_set_size(kept.names, 0);
    for (guint i = 0; i < kept.nodes->len; i++) {
        const struct kept *k = kept.nodes->pdata[i];
        const char *base = strrchr(k->path, '/');
        if ((size_t)(base - k->path) == strlen(path) && g_str_has_prefix(k->path, path))
            g_ptr_array_add(kept.names, (char *)(uintptr_t)(base + 1));
    }
}

/* The stat of the node, and what a read or list adds to it. */
static void kept_show(const struct kept *k, struct store_reply *reply)
{
    gsize length = 0;

    kept_list(k->path);
    reply->czxid = k->czxid;
    reply->mzxid = k->mzxid;
    reply->pzxid = k->pzxid;
    reply->version = k->version;
    reply->ephemeral_owner = k->ephemeral ? FAKE_SESSION_ID : 0;
    reply->mtime_ms = NOW_MS;
    reply->data = k->data ? g_bytes_get_data(k->data, &length) : NULL;
    reply->length = reply->data_length = (int)length;
    reply->names = (char *const *)kept.names->pdata;
    reply->count = reply->children = (int)kept.names->len;
}

static bool kept_answer(const struct store_request *r, struct store_reply *reply)
{
    const char *path = r->path;

    *reply = (struct store_reply){.rc = STORE_OK};
    if (r->kind == STORE_CREATE) {
        reply->rc = kept_create(path, r->mode, r->data, r->length);
        reply->path = path = kept.path;
    } else if (r->kind == STORE_SET) {
        reply->rc = kept_set(path, r->version, r->data, r->length);
    } else if (r->kind == STORE_DELETE) {
        reply->rc = kept_delete(path);
        return true;
    } else if (r->kind == STORE_MULTI) {
        reply->rc = kept_change(r, &reply->failed);
        return true;
    } else if (r->kind != STORE_GET && r->kind != STORE_LIST && r->kind != STORE_STAT) {
        return true;
    }
    const struct kept *k = reply->rc == STORE_OK ? kept_find(path) : NULL;
    if (k)
        kept_show(k, reply);
    else if (reply->rc == STORE_OK)
        reply->rc = STORE_NONODE;
    return true;
}

/* ---- a writer's session ---- */

static zkl_session *s;
static uint16_t drawn;

/* Each id is another one, and the same in each run. None is marked by chance. */
static void stored_random(void *bytes, size_t size)
{
    memset(bytes, 0x11 * ++drawn, size);
}

static void stored_end(void)
{
    fake_answer_at_once(NULL);
    contender_long_queue = LONG_QUEUE;
}

static void stored_begin(void)
{
    kept.nodes = g_ptr_array_new_with_free_func(kept_free);
    kept.names = g_ptr_array_new();
    kept.rows = g_string_new(NULL);
    kept.zxid = 0x100;
    kept.path = NULL;
    kept_add("/root");
    kept_add("/zookeeper");
    kept_add("/zookeeper/config");
    drawn = 0;
    runner_at_end(stored_end);
    s = hand_session();
    fake_answer_all(kept_answer);
}

static void stored_close(void)
{
    stored_end();
    hand_close(s);
    g_ptr_array_unref(kept.nodes);
    g_ptr_array_unref(kept.names);
    g_string_free(kept.rows, TRUE);
    g_free(kept.path);
}

/* ---- writers ---- */

static void write_mutex_with(const zkl_mutex_options *options)
{
    zkl_mutex *m;

    REQUIRE(zkl_mutex_new(&m, s, "/app/lock", options) == 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    zkl_mutex_free(m);
}

static void write_mutex(void)
{
    write_mutex_with(&(zkl_mutex_options){.size = sizeof(zkl_mutex_options), .name = "me"});
}

static void write_mutex_kazoo(void)
{
    write_mutex_with(&(zkl_mutex_options){.size = sizeof(zkl_mutex_options),
                                          .name = "me",
                                          .peer = ZKL_PEER_KAZOO,
                                          .parents = ZKL_PARENTS_PERSISTENT});
}

static void write_retained(void)
{
    write_mutex_with(
        &(zkl_mutex_options){.size = sizeof(zkl_mutex_options), .name = "me", .retain_ms = 1000});
}

static void write_retained_kazoo(void)
{
    write_mutex_with(&(zkl_mutex_options){.size = sizeof(zkl_mutex_options),
                                          .name = "me",
                                          .retain_ms = 1000,
                                          .peer = ZKL_PEER_KAZOO,
                                          .parents = ZKL_PARENTS_PERSISTENT});
}

static void write_rwlock(void)
{
    const zkl_mutex_options o = {.size = sizeof o, .name = "me"};
    zkl_rwlock *l;

    REQUIRE(zkl_rwlock_new(&l, s, "/rw", &o) == 0);
    CHECK_INT(zkl_rwlock_lock_shared(l, 0, NULL), 0);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK_INT(zkl_rwlock_lock(l, 0, NULL), 0);
    zkl_rwlock_free(l);
}

static void write_multilock(void)
{
    const zkl_mutex_options o = {.size = sizeof o, .name = "me"};
    const char *const paths[] = {"/a", "/b"};
    zkl_multilock *l;
    zkl_grant *g = NULL;

    REQUIRE(zkl_multilock_new(&l, s, paths, 2, &o) == 0);
    CHECK_INT(zkl_multilock_lock(l, 0, &g), 0);
    zkl_grant_release(g);
    zkl_multilock_free(l);
}

/* The name of the head is written by the contender that becomes the head of a long queue. */
static void write_hint(void)
{
    contender_long_queue = 1;
    write_mutex();
}

static zkl_semaphore *stored_permits(const zkl_semaphore_options *options, int permits,
                                     zkl_grant **ret)
{
    zkl_semaphore *m;

    *ret = NULL;
    REQUIRE(zkl_semaphore_new(&m, s, "/sem", options) == 0);
    CHECK_INT(zkl_semaphore_acquire(m, permits, 0, ret), 0);
    return m;
}

static void write_semaphore(void)
{
    const zkl_semaphore_options o = {.size = sizeof o, .name = "me", .limit = 9};
    zkl_grant *one, *three = NULL;
    zkl_semaphore *m = stored_permits(&o, 1, &one);

    CHECK_INT(zkl_semaphore_acquire(m, 3, 0, &three), 0);
    CHECK_INT(zkl_semaphore_set_limit(m, 12, 0), 0);
    zkl_grant_release(one);
    zkl_grant_release(three);
    zkl_semaphore_free(m);
}

static void write_numbered(void)
{
    const zkl_semaphore_options o = {.size = sizeof o, .name = "me", .limit = 9, .numbered = 1};
    zkl_grant *two, *one = NULL;
    zkl_semaphore *m = stored_permits(&o, 2, &two);
    zkl_queue *q = NULL;

    CHECK_INT(zkl_semaphore_acquire(m, 1, 0, &one), 0);
    CHECK_INT(zkl_grant_multi(one, NULL, 0, 0, 0), 0);
    CHECK_INT(zkl_queue_revoke(&q, s, "/sem", strrchr(zkl_grant_node(one), '/') + 1, 0), 0);
    zkl_queue_free(q);
    CHECK_INT(zkl_grant_multi(one, NULL, 0, 0, 0), 0);
    zkl_grant_release(two);
    zkl_grant_release(one);
    zkl_semaphore_free(m);
}

static void write_leases(void)
{
    const zkl_semaphore_options o = {
        .size = sizeof o, .name = "me", .limit = 2, .layout = ZKL_SEMAPHORE_CURATOR};
    zkl_grant *g;
    zkl_semaphore *m = stored_permits(&o, 1, &g);

    zkl_grant_release(g);
    zkl_semaphore_free(m);
}

static void write_term(zkl_layout layout, int priority)
{
    const zkl_election_options o = {.size = sizeof o, .layout = layout, .priority = priority};
    zkl_election *e;
    zkl_grant *g = NULL;

    REQUIRE(zkl_election_new(&e, s, "/lead", "host1", &o) == 0);
    CHECK_INT(zkl_election_campaign(e, 0, &g), 0);
    CHECK_INT(zkl_election_proclaim(e, "tcp://host1:1", 13, 0), 0);
    zkl_grant_release(g);
    zkl_election_free(e);
}

static void write_latch(void)
{
    write_term(ZKL_LAYOUT_LATCH, 0);
}

static void write_priority(void)
{
    write_term(ZKL_LAYOUT_LATCH, 7);
}

static void write_selector(void)
{
    write_term(ZKL_LAYOUT_SELECTOR, 0);
}

static void write_selector_priority(void)
{
    write_term(ZKL_LAYOUT_SELECTOR, 7);
}

static void write_kazoo_election(void)
{
    write_term(ZKL_LAYOUT_KAZOO, 0);
}

/* Two transactions, and a request to give way between them. */
static void write_transactions(void)
{
    const zkl_mutex_options o = {.size = sizeof o, .name = "me"};
    const zkl_grant *g = NULL;
    zkl_mutex *m;
    zkl_queue *q = NULL;

    REQUIRE(zkl_mutex_new(&m, s, "/l", &o) == 0);
    CHECK_INT(zkl_mutex_lock(m, 0, &g), 0);
    CHECK_INT(zkl_grant_multi(g, NULL, 0, 0, 0), 0);
    CHECK_INT(zkl_queue_revoke(&q, s, "/l", NULL, 0), 0);
    zkl_queue_free(q);
    CHECK_INT(zkl_grant_multi(g, NULL, 0, 0, 0), 0);
    zkl_mutex_free(m);
}

static void write_counter(zkl_counter_width width)
{
    zkl_counter *c;

    REQUIRE(zkl_counter_new(&c, s, "/app/n", width) == 0);
    CHECK_INT(zkl_counter_set(c, 0x01020304, NULL, 0), 0);
    CHECK_INT(zkl_counter_set(c, -2, NULL, 0), 0);
    zkl_counter_free(c);
}

static void write_counter_32(void)
{
    write_counter(ZKL_COUNTER_32);
}

static void write_counter_64(void)
{
    write_counter(ZKL_COUNTER_64);
}

static int stored_work(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size)
{
    (void)grant;
    (void)data;
    *ret = "done\n1";
    *ret_size = 6;
    return 0;
}

static void write_once_by(zkl_once_options o)
{
    zkl_once *once;

    o.size = sizeof o;
    o.name = "me";
    REQUIRE(zkl_once_new(&once, s, "/job", &o) == 0);
    CHECK_INT(zkl_once_call(once, 0, stored_work, NULL, NULL), 0);
    zkl_once_free(once);
}

static void write_once(void)
{
    write_once_by((zkl_once_options){.period_ms = 0});
}

static void write_once_again_and_again(void)
{
    write_once_by((zkl_once_options){.period_ms = 60000});
}

static void write_once_by_a_calendar(void)
{
    write_once_by((zkl_once_options){.calendar = "*/15 * * * *", .zone = "Europe/Berlin"});
}

static void write_member(zkl_member_layout layout, const char *data)
{
    const zkl_member_options o = {.size = sizeof o, .layout = layout};
    zkl_member *m;

    REQUIRE(zkl_member_join(&m, s, "/group", "host1", data, data ? strlen(data) : 0, &o) == 0);
    zkl_member_free(m);
}

static void write_group(void)
{
    write_member(ZKL_MEMBER_GROUP, "tcp://host1:1");
}

static void write_party(void)
{
    write_member(ZKL_MEMBER_PARTY, NULL);
}

/* As tools/shards.c and examples/shards.c say it. */
static void write_shards(void)
{
    write_member(ZKL_MEMBER_GROUP, "tcp://host1:1\nzkl-shards 64 2");
}

static void write_barrier(void)
{
    const zkl_barrier_options o = {.size = sizeof o, .name = "me"};
    zkl_barrier *b;

    REQUIRE(zkl_barrier_new(&b, s, "/app/gate", &o) == 0);
    CHECK_INT(zkl_barrier_set(b, 0), 0);
    zkl_barrier_free(b);
}

static void write_double_barrier(void)
{
    const zkl_barrier_options o = {.size = sizeof o, .name = "me"};
    zkl_double_barrier *b;

    REQUIRE(zkl_double_barrier_new(&b, s, "/meet", 1, &o) == 0);
    CHECK_INT(zkl_double_barrier_enter(b, 0), 0);
    zkl_double_barrier_free(b);
}

/* What is not stored, but what all must compute alike: "host shard" and a hash. */
static void write_hashes(void)
{
    static const char *const ids[] = {"", "host1", "h\xc3\xb6st"};

    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
        for (uint64_t shard = 0; shard < 0x10000000000; shard += 0xffffffffff) {
            const uint64_t hash = shard_hash(ids[i], shard);
            g_string_append(kept.rows, "hash | ");
            stored_append(kept.rows, ids[i], strlen(ids[i]));
            g_string_append_printf(kept.rows,
                                   " %" G_GUINT64_FORMAT " | %016" G_GINT64_MODIFIER
                                   "x, score of weight 3: %016" G_GINT64_MODIFIER "x\n",
                                   shard, hash, shard_score(hash, 3));
        }
    }
}

/* The owners of 16 shards, the first one first. */
static void write_plan(void)
{
    struct shards_host hosts[] = {
        {.id = "a", .weight = 1, .count = 16},
        {.id = "b", .weight = 2, .count = 16},
        {.id = "c", .weight = 1, .count = 8},
    };
    struct shards_shard shards[16];

    shards_plan(hosts, G_N_ELEMENTS(hosts), shards);
    g_string_append(kept.rows, "plan | a 1 of 16, b 2 of 16, c 1 of 8 | ");
    for (size_t i = 0; i < G_N_ELEMENTS(shards); i++)
        g_string_append(kept.rows, hosts[shards[i].owner].id);
    g_string_append_c(kept.rows, '\n');
}

/* Writes a node for each ACL that the option of a session may have. */
static void write_permissions(void)
{
    static const char *const texts[] = {NULL, "auth::cdrwa", "sasl:me:cdrwa,world:anyone:r"};

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        GArray *entries = acl_parse(texts[i]);
        g_string_append_printf(kept.rows, "acl | %s |", texts[i] ? texts[i] : "(none)");
        for (guint k = 0; k < entries->len; k++) {
            const struct acl_entry *e = &g_array_index(entries, struct acl_entry, k);
            g_string_append_printf(kept.rows, " %d %s:%s", e->perms, e->scheme, e->id);
        }
        g_string_append_c(kept.rows, '\n');
        g_array_unref(entries);
    }
}

static const struct {
    const char *name;
    void (*write)(void);
} writers[] = {
    {"mutex", write_mutex},
    {"mutex for kazoo", write_mutex_kazoo},
    {"retained", write_retained},
    {"retained for kazoo", write_retained_kazoo},
    {"read-write lock", write_rwlock},
    {"lock at several paths", write_multilock},
    {"head of a long queue", write_hint},
    {"semaphore", write_semaphore},
    {"numbered", write_numbered},
    {"leases", write_leases},
    {"latch", write_latch},
    {"priority", write_priority},
    {"selector", write_selector},
    {"selector with a priority", write_selector_priority},
    {"election for kazoo", write_kazoo_election},
    {"transactions", write_transactions},
    {"counter of 4 bytes", write_counter_32},
    {"counter of 8 bytes", write_counter_64},
    {"once", write_once},
    {"once for each period", write_once_again_and_again},
    {"once by a calendar", write_once_by_a_calendar},
    {"group", write_group},
    {"party", write_party},
    {"shards", write_shards},
    {"hashes of shards", write_hashes},
    {"plan of shards", write_plan},
    {"barrier", write_barrier},
    {"double barrier", write_double_barrier},
    {"permissions", write_permissions},
};

/* ---- readers ---- */

/* A row of stored.txt. */
struct stored {
    const char *writer, *how, *path, *read;
    GString *data; /* as it is in the node */
    const char *base;
    bool set;
};

static void read_payload(const struct stored *row, GString *to)
{
    const struct payload p = payload_read(row->data->str, row->data->len);
    int32_t numbers[4];

    REQUIRE(p.numbers <= G_N_ELEMENTS(numbers));
    payload_numbers(row->data->str, &p, numbers);
    g_string_append(to, ", \"");
    stored_append(to, row->data->str, p.length);
    g_string_append_c(to, '"');
    for (size_t i = 0; i < p.numbers; i++)
        g_string_append_printf(to, ", number %d", numbers[i]);
    if (p.numbers > 0)
        g_string_append_printf(to, ", ceiling %d", p.ceiling);
    if (p.transaction != 0)
        g_string_append_printf(to, ", transaction %u", p.transaction);
    if (payload_asks(row->data->str, row->data->len, row->set))
        g_string_append(to, ", asked to give way");
}

static void read_contender(const struct stored *row, GString *to)
{
    static const char *const kinds[CHILD_KINDS] = {
        [CHILD_LOCK] = "lock",    [CHILD_LATCH] = "latch", [CHILD_READ] = "reader",
        [CHILD_WRITE] = "writer", [CHILD_LEASE] = "lease", [CHILD_KAZOO] = "kazoo's"};
    const size_t length = strlen(row->base);
    struct child c;

    name_parse(row->base, length, &c);
    g_string_append_printf(to, "%s %d", kinds[c.kind] ? kinds[c.kind] : "?", c.number);
    if (name_maker(row->base, length) == MAKER_ZKL)
        g_string_append(to, " of zkl");
    if (name_priority(row->base, length) > 0)
        g_string_append_printf(to, ", priority %d", name_priority(row->base, length));
    if (c.kind == CHILD_LEASE)
        g_string_append_printf(to, ", permits %u%s", c.permits, c.numbered ? ", numbered" : "");
    if (c.retains)
        g_string_append(to, ", retains");
    read_payload(row, to);
}

static void read_hint(const struct stored *row, GString *to)
{
    const char *name = strrchr(row->data->str, ' ');

    name = name ? name + 1 : "";
    if (head_hint_read(row->data->str, row->data->len, name) == HINT_NAMED)
        g_string_append(to, name);
}

static void read_limit(const struct stored *row, GString *to)
{
    g_string_append_printf(to, "%d", limit_read(row->data->str, row->data->len));
}

static void read_counter(const struct stored *row, GString *to)
{
    int64_t value;

    if (counter_decode((unsigned)row->data->len, row->data->str, row->data->len, &value))
        g_string_append_printf(to, "%" G_GINT64_FORMAT, value);
}

static void read_record(const struct stored *row, GString *to)
{
    struct once_record r;

    if (!once_record_read(row->data->str, row->data->len, &r))
        return;
    g_string_append_printf(to,
                           "begun %" G_GUINT64_FORMAT ", due %" G_GUINT64_FORMAT
                           ", token %" G_GUINT64_FORMAT ", by \"",
                           r.begun, r.due, r.token);
    stored_append(to, r.name, r.name_length);
    if (r.series_length > 0) {
        g_string_append_printf(to,
                               "\", for %" G_GUINT64_FORMAT ", local %" G_GUINT64_FORMAT ", of \"",
                               r.instant, r.local);
        stored_append(to, r.series, r.series_length);
    }
    g_string_append(to, "\", result \"");
    stored_append(to, r.result, r.length);
    g_string_append_c(to, '"');
}

static void read_proclaimed(const struct stored *row, GString *to)
{
    uint64_t token;
    size_t at;

    if (!observe_data(row->data->str, row->data->len, &token, &at))
        return;
    g_string_append_printf(to, "by %" G_GUINT64_FORMAT ", \"", token);
    stored_append(to, row->data->str + at, row->data->len - at);
    g_string_append_c(to, '"');
}

static void read_member(const struct stored *row, GString *to)
{
    const struct store_reply reply = {.data = row->data->str, .length = (int)row->data->len};
    const bool party = g_str_has_suffix(row->base, "__party__");
    GPtrArray *boxes = g_ptr_array_new();
    zkl_shards_share share;

    g_ptr_array_add(boxes,
                    member_box_new(row->base, party ? ZKL_MEMBER_PARTY : ZKL_MEMBER_GROUP, &reply));
    zkl_members *members = members_new(boxes);
    const zkl_member_info *m = zkl_members_get(members, 0);
    g_string_append_printf(to, "%s, \"", m->id);
    stored_append(to, m->data, m->size);
    g_string_append_c(to, '"');
    if (zkl_shards_share_of(m, &share))
        g_string_append_printf(to, ", %u shards, weight %u", share.count, share.weight);
    zkl_members_free(members);
}

static void read_bound(const struct stored *row, GString *to)
{
    g_string_append_printf(to, "%" G_GUINT64_FORMAT,
                           barrier_bound_read(row->data->str, row->data->len));
}

/* By what stands before the colon in the last column; "-": the library reads nothing from it. */
static const struct {
    const char *name;
    void (*read)(const struct stored *row, GString *to);
} readers[] = {
    {"contender", read_contender}, {"hint", read_hint},     {"limit", read_limit},
    {"counter", read_counter},     {"record", read_record}, {"proclaimed", read_proclaimed},
    {"member", read_member},       {"bound", read_bound},
};

static void stored_read(const struct stored *row)
{
    const size_t word = strcspn(row->read, ":");
    GString *to = g_string_new(NULL);

    if (strcmp(row->read, "-") != 0) {
        for (size_t i = 0; i < G_N_ELEMENTS(readers); i++) {
            if (strlen(readers[i].name) == word && strncmp(readers[i].name, row->read, word) == 0) {
                g_string_append_printf(to, "%s: ", readers[i].name);
                readers[i].read(row, to);
            }
        }
        CHECK_STR(to->str, row->read);
    }
    g_string_free(to, TRUE);
}

/* ---- the rows ---- */

/* As stored_append() writes it. */
static GString *stored_bytes(const char *text)
{
    GString *to = g_string_new(NULL);

    for (const char *at = strcmp(text, "(none)") == 0 ? "" : text; *at; at++) {
        if (at[0] == '\\' && at[1] == 'n') {
            g_string_append_c(to, '\n');
            at++;
        } else if (at[0] == '\\' && at[1] == 'x') {
            g_string_append_c(
                to, (char)(g_ascii_xdigit_value(at[2]) << 4 | g_ascii_xdigit_value(at[3])));
            at += 3;
        } else {
            g_string_append_c(to, *at);
        }
    }
    return to;
}

/* Reads the row back, and adds what the writer must have written, to the rows of its writer. */
static void stored_take(char *line, GHashTable *wanted)
{
    char **columns = g_strsplit(line, " | ", COLUMNS + 1);

    if (CHECK_INT((int)g_strv_length(columns), COLUMNS)) {
        struct stored row = {columns[0],
                             columns[1],
                             columns[2],
                             columns[4],
                             stored_bytes(columns[3]),
                             strrchr(columns[2], '/'),
                             false};
        GString *rows = g_hash_table_lookup(wanted, row.writer);
        row.base = row.base ? row.base + 1 : row.path;
        row.set = strcmp(row.how, "set") == 0;
        stored_read(&row);
        if (!rows)
            g_hash_table_insert(wanted, g_strdup(row.writer), rows = g_string_new(NULL));
        g_string_append_printf(rows, "%s | %s | %s\n", row.how, row.path, columns[3]);
        g_string_free(row.data, TRUE);
    } else {
        runner_fail(__FILE__, __LINE__, "of the row \"%s\"", line);
    }
    g_strfreev(columns);
}

static void stored_rows_free(gpointer rows)
{
    g_string_free(rows, TRUE);
}

static GHashTable *stored_rows(void)
{
    GHashTable *wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, stored_rows_free);
    char *text = NULL;

    REQUIRE(g_file_get_contents(STORED, &text, NULL, NULL));
    char **lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (**line != '#' && **line)
            stored_take(*line, wanted);
    }
    g_strfreev(lines);
    g_free(text);
    return wanted;
}

/* Row by row, so that a failure shows the row that differs. */
static void stored_compare(const char *writer, const char *rows, const char *wanted)
{
    char **is = g_strsplit(rows, "\n", -1), **should = g_strsplit(wanted, "\n", -1);

    for (size_t i = 0; is[i] && should[i]; i++) {
        if (!CHECK_STR(is[i], should[i]))
            runner_fail(__FILE__, __LINE__, "row %d of \"%s\"", (int)i + 1, writer);
    }
    if (!CHECK_INT((int)g_strv_length(is), (int)g_strv_length(should)))
        runner_fail(__FILE__, __LINE__, "\"%s\" writes\n%s", writer, rows);
    g_strfreev(is);
    g_strfreev(should);
}

TEST_CASE(all_of_it)
{
    void (*const random)(void *, size_t) = layout_random;
    GHashTable *wanted = stored_rows();

    layout_random = stored_random;
    for (size_t i = 0; i < G_N_ELEMENTS(writers); i++) {
        stored_begin();
        writers[i].write();
        const GString *rows = g_hash_table_lookup(wanted, writers[i].name);
        stored_compare(writers[i].name, kept.rows->str, rows ? rows->str : "");
        g_hash_table_remove(wanted, writers[i].name);
        stored_close();
    }
    layout_random = random;
    CHECK_INT((int)g_hash_table_size(wanted), 0);
    g_hash_table_unref(wanted);
}

/* ---- forms that are not known ---- */

static void kept_plant(const char *path, const char *data)
{
    char *parent = g_path_get_dirname(path);

    if (!kept_find(parent))
        kept_plant(parent, NULL);
    kept_write(kept_add(path), data, data ? (int)strlen(data) : 0);
    g_free(parent);
}

static int use_mutex(void)
{
    zkl_mutex *m;

    REQUIRE(zkl_mutex_new(&m, s, "/u", NULL) == 0);
    const int code = zkl_mutex_lock(m, 0, NULL);
    zkl_mutex_free(m);
    return code;
}

static int use_long_queue(void)
{
    contender_long_queue = 1;
    return use_mutex();
}

static zkl_semaphore *unknown_permits(void)
{
    const zkl_semaphore_options o = {.size = sizeof o, .limit = 3};
    zkl_semaphore *m;

    REQUIRE(zkl_semaphore_new(&m, s, "/u", &o) == 0);
    return m;
}

static int use_semaphore(void)
{
    zkl_semaphore *m = unknown_permits();
    zkl_grant *g = NULL;
    const int code = zkl_semaphore_acquire(m, 1, 0, &g);

    zkl_grant_release(g);
    zkl_semaphore_free(m);
    return code;
}

static int use_limit(void)
{
    zkl_semaphore *m = unknown_permits();
    const int code = zkl_semaphore_set_limit(m, 4, 0);

    zkl_semaphore_free(m);
    return code;
}

static int use_counter(void)
{
    zkl_counter *c;

    REQUIRE(zkl_counter_new(&c, s, "/u", ZKL_COUNTER_64) == 0);
    const int code = zkl_counter_set(c, 1, NULL, 0);
    zkl_counter_free(c);
    return code;
}

static int use_once(void)
{
    const zkl_once_options o = {.size = sizeof o, .period_ms = 60000};
    zkl_once *once;

    REQUIRE(zkl_once_new(&once, s, "/u", &o) == 0);
    const int code = zkl_once_call(once, 0, stored_work, NULL, NULL);
    zkl_once_free(once);
    return code;
}

static int use_double_barrier(void)
{
    zkl_double_barrier *b;

    REQUIRE(zkl_double_barrier_new(&b, s, "/u", 1, NULL) == 0);
    const int code = zkl_double_barrier_enter(b, 0);
    zkl_double_barrier_free(b);
    return code;
}

#define LATER_ID "_c_11111111-1111-8111-8111-111111111111-"

/* What docs/stored.md says of them. Nobody writes over one. */
TEST_CASE(not_known)
{
    static const struct {
        const char *path, *data;
        int (*use)(void);
        int code;
    } rows[] = {
        {"/root/u/" LATER_ID "shared-0000000000", "x", use_mutex, ZKL_ELAYOUT},
        {"/root/u/" LATER_ID "q3-lock-0000000000", "x", use_mutex, ZKL_ELAYOUT},
        {"/root/u/" LATER_ID "p07-lock-0000000000", "x", use_mutex, ZKL_ELAYOUT},
        {"/root/u/_c_11111111-1111-8e7b-8111-111111111111-lock-0000000000", "x", use_mutex,
         ZKL_ELAYOUT},
        {"/root/u/1111111111118e7b8111111111111111__lock__0000000000", "x", use_mutex, ZKL_ELAYOUT},
        {"/root/u", "zkl head 2 a b", use_long_queue, 0},
        {"/root/u", "3 burst 2", use_semaphore, ZKL_ENOENT},
        {"/root/u", "3 burst 2", use_limit, ZKL_ELAYOUT},
        {"/root/u", "12345", use_counter, ZKL_ELAYOUT},
        {"/root/u/record", "zkl once 2 1 2 3 0\n", use_once, ZKL_ELAYOUT},
        {"/root/u/record", "zkl once 3 1 2 3 0\n", use_once, ZKL_ELAYOUT},
        {"/root/u/record", "zkl once 1 1 2 3 0 5\n", use_once, ZKL_ELAYOUT},
        {"/root/u/ready", "zkl round 2 300", use_double_barrier, ZKL_ELAYOUT},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        stored_begin();
        kept_plant(rows[i].path, rows[i].data);
        if (!CHECK_INT(rows[i].use(), rows[i].code))
            runner_fail(__FILE__, __LINE__, "of \"%s\" at %s", rows[i].data, rows[i].path);
        CHECK_INT(kept_find(rows[i].path)->version, 0);
        stored_close();
    }
}
