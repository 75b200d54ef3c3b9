/* Cases: what is around each, its clients, and what those were told. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "lib/base/clock.h"

const struct bench *bench;

/* ---- what clients were told, in the order in which it came ---- */

struct client {
    pthread_mutex_t monitor;
    struct store *store; /* NULL once closed */
    void *link;
    /* Guarded by the record's lock: */
    GArray *said;     /* of struct said */
    GPtrArray *asked; /* of struct asked */
    int64_t session;
    int timeout_ms;
    bool closed;
};

enum { ANY = -1 }; /* looked for only */

enum said_kind { SAID_EVENT, SAID_WATCH, SAID_REPLY };

struct said {
    enum said_kind kind;
    enum store_event event;
    char *path; /* of a watch */
    int fired;  /* an enum store_fired, or ANY */
    int64_t at_ms;
};

struct asked {
    struct client *client;
    struct answer answer;
};

/* The lock is a leaf: taken in callbacks, under monitors. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    unsigned said;
} record = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void record_init(void)
{
    pthread_cond_init(&record.more, NULL);
}

unsigned conform_said(void)
{
    pthread_mutex_lock(&record.lock);
    unsigned said = record.said;
    pthread_mutex_unlock(&record.lock);
    return said;
}

bool conform_wait(unsigned said)
{
    pthread_mutex_lock(&record.lock);
    while (record.said == said && progress_wait(&record.more, &record.lock))
        ;
    bool more = record.said != said;
    pthread_mutex_unlock(&record.lock);
    return more;
}

/* With the record's lock held. */
static unsigned note(struct client *c, struct said said)
{
    said.at_ms = bench->now_ms();
    g_array_append_val(c->said, said);
    record.said++;
    pthread_cond_broadcast(&record.more);
    return c->said->len - 1;
}

/* ---- what stores call ---- */

static void on_event(void *context, enum store_event event, int64_t session, int timeout_ms)
{
    struct client *c = context;

    if (event >= STORE_EV_UNSERVED)
        return; /* they come all the time */
    pthread_mutex_lock(&record.lock);
    if (event == STORE_EV_UP) {
        c->session = session;
        c->timeout_ms = timeout_ms;
    }
    note(c, (struct said){.kind = SAID_EVENT, .event = event});
    pthread_mutex_unlock(&record.lock);
}

static void on_watch(void *context, const char *path, enum store_fired fired)
{
    pthread_mutex_lock(&record.lock);
    note(context, (struct said){.kind = SAID_WATCH, .path = g_strdup(path), .fired = (int)fired});
    pthread_mutex_unlock(&record.lock);
}

static void on_closed(void *context)
{
    struct client *c = context;

    pthread_mutex_lock(&record.lock);
    c->closed = true;
    record.said++;
    pthread_cond_broadcast(&record.more);
    pthread_mutex_unlock(&record.lock);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **sorted(char *const *names, int count)
{
    char **copy = g_new0(char *, (gsize)count + 1);

    for (int i = 0; i < count; i++)
        copy[i] = g_strdup(names[i]);
    qsort(copy, (size_t)count, sizeof(char *), by_name);
    return copy;
}

static void on_reply(void *context, const struct store_reply *reply)
{
    struct asked *asked = context;
    struct answer *a = &asked->answer;

    pthread_mutex_lock(&record.lock);
    unsigned place = note(asked->client, (struct said){.kind = SAID_REPLY});
    if (a->times++ == 0) {
        a->place = place;
        a->rc = reply->rc;
        a->path = g_strdup(reply->path);
        a->data = reply->data ? g_strndup(reply->data, (gsize)reply->length) : NULL;
        a->length = reply->length;
        a->czxid = reply->czxid;
        a->ephemeral_owner = reply->ephemeral_owner;
        a->mtime_ms = reply->mtime_ms;
        a->version = reply->version;
        a->children = reply->children;
        a->data_length = reply->data_length;
        a->failed = reply->failed;
        a->names = reply->rc == STORE_OK ? sorted(reply->names, reply->count) : NULL;
    }
    pthread_mutex_unlock(&record.lock);
}

static void clear_said(void *data)
{
    g_free(((struct said *)data)->path);
}

static void free_asked(void *data)
{
    struct asked *asked = data;

    g_free(asked->answer.path);
    g_free(asked->answer.data);
    g_strfreev(asked->answer.names);
    g_free(asked);
}

/* ---- looking ---- */

bool is_answered(const struct answer *a)
{
    pthread_mutex_lock(&record.lock);
    bool yes = a->times > 0;
    pthread_mutex_unlock(&record.lock);
    return yes;
}

static unsigned find(struct client *c, const struct said *wanted, unsigned nth)
{
    unsigned place = UINT_MAX;

    pthread_mutex_lock(&record.lock);
    for (guint i = 0; i < c->said->len && place == UINT_MAX; i++) {
        const struct said *s = &g_array_index(c->said, struct said, i);
        if (s->kind == wanted->kind && s->event == wanted->event &&
            (s->fired == wanted->fired || wanted->fired == ANY) &&
            (!wanted->path || strcmp(s->path, wanted->path) == 0) && nth-- == 0)
            place = i;
    }
    pthread_mutex_unlock(&record.lock);
    return place;
}

static unsigned count(struct client *c, struct said wanted)
{
    unsigned n = 0;

    while (find(c, &wanted, n) != UINT_MAX)
        n++;
    return n;
}

/* Only looked for, never changed. */
static struct said watch_of(const char *path, int fired)
{
    return (struct said){.kind = SAID_WATCH, .path = (char *)(uintptr_t)path, .fired = fired};
}

unsigned events(struct client *c, enum store_event event)
{
    return count(c, (struct said){.kind = SAID_EVENT, .event = event});
}

unsigned heard(struct client *c, const char *path)
{
    return count(c, watch_of(path, ANY));
}

unsigned heard_gone(struct client *c, const char *path)
{
    return heard_as(c, path, STORE_FIRED_GONE);
}

unsigned heard_as(struct client *c, const char *path, enum store_fired fired)
{
    return count(c, watch_of(path, (int)fired));
}

unsigned place_of_event(struct client *c, enum store_event event, unsigned nth)
{
    const struct said wanted = {.kind = SAID_EVENT, .event = event};

    return find(c, &wanted, nth);
}

unsigned place_of_watch(struct client *c, const char *path)
{
    const struct said wanted = watch_of(path, ANY);

    return find(c, &wanted, 0);
}

unsigned told(struct client *c)
{
    pthread_mutex_lock(&record.lock);
    unsigned n = c->said->len;
    pthread_mutex_unlock(&record.lock);
    return n;
}

int64_t heard_at_ms(struct client *c, const char *path)
{
    unsigned place = place_of_watch(c, path);

    REQUIRE(place != UINT_MAX);
    pthread_mutex_lock(&record.lock);
    int64_t at_ms = g_array_index(c->said, struct said, place).at_ms;
    pthread_mutex_unlock(&record.lock);
    return at_ms;
}

int64_t client_session(struct client *c)
{
    pthread_mutex_lock(&record.lock);
    int64_t session = c->session;
    pthread_mutex_unlock(&record.lock);
    return session;
}

int client_timeout_ms(struct client *c)
{
    pthread_mutex_lock(&record.lock);
    int timeout_ms = c->timeout_ms;
    pthread_mutex_unlock(&record.lock);
    return timeout_ms;
}

static bool is_closed(struct client *c)
{
    pthread_mutex_lock(&record.lock);
    bool closed = c->closed;
    pthread_mutex_unlock(&record.lock);
    return closed;
}

/* ---- clients of a case ---- */

static GPtrArray *clients;

static void clients_init(void)
{
    record_init();
    clients = g_ptr_array_new();
}

void *client_link(struct client *c)
{
    return c->link;
}

/* ---- requests ---- */

/* NULL: it was not sent. */
static struct answer *give(struct client *c, const struct store_request *request)
{
    struct asked *asked = g_new0(struct asked, 1);

    asked->client = c;
    pthread_mutex_lock(&record.lock);
    g_ptr_array_add(c->asked, asked);
    pthread_mutex_unlock(&record.lock);
    if (bench->ops->submit(c->store, request, on_reply, asked))
        return &asked->answer;
    pthread_mutex_lock(&record.lock);
    g_ptr_array_remove(c->asked, asked);
    pthread_mutex_unlock(&record.lock);
    return NULL;
}

void submit_all(struct client *c, const struct store_request *requests, int count,
                struct answer **ret, bool close)
{
    bench->enter(c->link);
    pthread_mutex_lock(&c->monitor);
    for (int i = 0; i < count; i++)
        ret[i] = give(c, &requests[i]);
    if (close) {
        bench->ops->close(c->store);
        c->store = NULL;
    }
    pthread_mutex_unlock(&c->monitor);
    bench->enter(NULL);
}

struct answer *submit(struct client *c, struct store_request request)
{
    struct answer *a;

    submit_all(c, &request, 1, &a, false);
    return a;
}

const struct answer *await(struct answer *a)
{
    REQUIRE(a != NULL);
    UNTIL(is_answered(a));
    return a;
}

const struct answer *ask(struct client *c, struct store_request request)
{
    return await(submit(c, request));
}

/* ---- begin and end ---- */

struct client *client_start(struct client_wish wish)
{
    struct client *c = g_new0(struct client, 1);
    struct store_config config = {.timeout_ms = wish.timeout_ms ? wish.timeout_ms : 10000};
    struct store_sink sink = {on_event, on_watch, on_closed, c, &c->monitor, NULL, NULL};

    pthread_mutex_init(&c->monitor, NULL);
    c->said = g_array_new(FALSE, TRUE, sizeof(struct said));
    g_array_set_clear_func(c->said, clear_said);
    c->asked = g_ptr_array_new_with_free_func(free_asked);
    c->link = bench->link(wish.server, &config.hosts);
    g_ptr_array_add(clients, c);
    bench->enter(c->link);
    pthread_mutex_lock(&c->monitor);
    int rc = bench->ops->open(&c->store, &config, &sink);
    pthread_mutex_unlock(&c->monitor);
    bench->enter(NULL);
    REQUIRE(rc == 0);
    return c;
}

struct client *client_open(struct client_wish wish)
{
    struct client *c = client_start(wish);

    UNTIL(events(c, STORE_EV_UP) == 1);
    return c;
}

struct client *client_new(void)
{
    return client_open((struct client_wish){.server = 0});
}

static void begin_close(struct client *c)
{
    submit_all(c, NULL, 0, NULL, true);
}

/* A thread says so, in virtual time too. */
static bool is_told_closed(struct client *c)
{
    for (;;) {
        unsigned said = conform_said();
        if (is_closed(c))
            return true;
        if (!conform_wait(said))
            return false;
    }
}

void client_wait_closed(struct client *c)
{
    REQUIRE(is_told_closed(c));
}

void client_close(struct client *c)
{
    begin_close(c);
    client_wait_closed(c);
}

static void free_client(struct client *c)
{
    bench->unlink(c->link);
    pthread_mutex_destroy(&c->monitor);
    g_array_unref(c->said);
    g_ptr_array_unref(c->asked);
    g_free(c);
}

/* check: that each request was answered once. */
static void clients_end(bool check)
{
    for (guint i = 0; i < clients->len; i++) {
        struct client *c = clients->pdata[i];
        if (c->store)
            begin_close(c);
    }
    for (guint i = 0; i < clients->len; i++) {
        struct client *c = clients->pdata[i];
        if (!is_told_closed(c))
            abort(); /* it would call into freed memory */
        for (guint k = 0; check && k < c->asked->len; k++)
            CHECK_INT(((struct asked *)c->asked->pdata[k])->answer.times, 1);
        free_client(c);
    }
    g_ptr_array_set_size(clients, 0);
}

/* ---- what is around a case ---- */

static struct {
    GStringChunk *strings; /* NULL outside of cases */
    char *root;
} present;

int conform_init(void)
{
    return bench->init();
}

/* ---- requests ---- */

struct store_request req(enum store_kind kind, const char *path)
{
    return (struct store_request){.kind = kind, .path = path};
}

struct store_request req_create(const char *path, enum store_mode mode)
{
    return (struct store_request){.kind = STORE_CREATE, .path = path, .mode = mode};
}

struct store_request req_create_plain(const char *path, enum store_mode mode)
{
    struct store_request what = req_create(path, mode);

    what.plain = true;
    return what;
}

struct store_request req_watch(const char *path)
{
    return (struct store_request){.kind = STORE_GET, .path = path, .watch = true};
}

struct store_request req_set(const char *path, const char *data, int version)
{
    return (struct store_request){.kind = STORE_SET,
                                  .path = path,
                                  .data = data,
                                  .length = (int)strlen(data),
                                  .version = version};
}

struct store_request req_multi(const struct store_change *changes, int count)
{
    return (struct store_request){
        .kind = STORE_MULTI, .path = changes[0].path, .changes = changes, .count = count};
}

/* ---- what a client does, in words ---- */

static const struct verb {
    const char *word;
    struct store_request request;
} verbs[] = {
    {"create", {.kind = STORE_CREATE, .mode = STORE_PERSISTENT}},
    {"contain", {.kind = STORE_CREATE, .mode = STORE_CONTAINER}},
    {"enter", {.kind = STORE_CREATE, .mode = STORE_EPHEMERAL_SEQUENTIAL}},
    {"delete", {.kind = STORE_DELETE}},
    {"set", {.kind = STORE_SET, .data = "new", .length = 3}},
    {"read", {.kind = STORE_GET}},
    {"watch", {.kind = STORE_GET, .watch = true}},
    {"list", {.kind = STORE_LIST, .watch = true}},
    {"look", {.kind = STORE_STAT}},
    {"sync", {.kind = STORE_SYNC}},
    {"unwatch", {.kind = STORE_UNWATCH}},
    {"unlist", {.kind = STORE_UNWATCH, .of_list = true}},
};

static const struct outcome {
    const char *words;
    enum store_rc rc;
} outcomes[] = {
    {"ok", STORE_OK},
    {"no node", STORE_NONODE},
    {"exists", STORE_EXISTS},
    {"other version", STORE_BADVERSION},
    {"not empty", STORE_NOTEMPTY},
    {"no permission", STORE_NOAUTH},
    {"bad", STORE_BAD},
};

static struct store_request request_of(char **words)
{
    const struct verb *verb = verbs, *end = verbs + G_N_ELEMENTS(verbs);

    while (verb < end && strcmp(verb->word, words[0]) != 0)
        verb++;
    REQUIRE(verb < end && words[1]);
    struct store_request request = verb->request;
    request.path = at(strcmp(words[1], ".") == 0 ? "" : words[1]);
    request.version = words[2] ? INT32_MAX : -1;
    return request;
}

static void does_one(struct client *c, const char *what)
{
    char **parts = g_strsplit(what, ": ", 2), **words = g_strsplit(parts[0], " ", -1);
    const bool wrongly = words[2] != NULL;
    const char *expected = parts[1] ? parts[1] : wrongly ? "other version" : "ok";
    const struct outcome *outcome = outcomes, *end = outcomes + G_N_ELEMENTS(outcomes);

    while (outcome < end && strcmp(outcome->words, expected) != 0)
        outcome++;
    REQUIRE(outcome < end);
    const enum store_rc rc = ask(c, request_of(words))->rc;
    if (rc != outcome->rc)
        runner_fail(__FILE__, __LINE__, "%s: answered %d", what, (int)rc);
    g_strfreev(words);
    g_strfreev(parts);
}

void does(struct client *c, const char *what)
{
    char **all = g_strsplit(what, ", ", -1);

    for (char **one = all; *one && **one; one++)
        does_one(c, *one);
    g_strfreev(all);
}

/* ---- a case ---- */

const char *at(const char *name)
{
    char *path = *name ? g_strdup_printf("%s/%s", present.root, name) : g_strdup(present.root);
    const char *kept = g_string_chunk_insert_const(present.strings, path);

    g_free(path);
    return kept;
}

/* Its clients may be left over from a case that ended by a failure. */
static void end_case(bool check)
{
    clients_end(check);
    bench->end();
    g_string_chunk_free(present.strings);
    g_free(present.root);
    present.strings = NULL;
}

static void begin_case(int servers, int round)
{
    if (present.strings)
        end_case(false);
    present.strings = g_string_chunk_new(1024);
    present.root = g_strdup_printf("/%s-%d", runner_current(), round);
    REQUIRE(bench->begin(servers, round));
    struct client *c = client_new();
    RC(c, req_create(at(""), STORE_PERSISTENT), STORE_OK);
    client_close(c);
}

void conform_case(int servers, void (*body)(void))
{
    for (int round = 0; round < bench->rounds; round++) {
        begin_case(servers, round);
        body();
        end_case(true);
    }
}

int conform_main(int argc, char **argv, const struct bench *on)
{
    bench = on;
    clients_init();
    return runner_main(argc, argv);
}
