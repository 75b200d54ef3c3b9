/* What clients were told, in the order in which it came. */
#include "conform_client.h"

#include <errno.h>
#include <string.h>

#include "lib/base/clock.h"

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

void record_init(void)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&record.more, &attr);
    pthread_condattr_destroy(&attr);
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
    struct timespec until = clock_after_ms(CONFORM_LIMIT_MS);
    int rc = 0;

    pthread_mutex_lock(&record.lock);
    while (record.said == said && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&record.more, &record.lock, &until);
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

void record_reply(void *context, const struct store_reply *reply)
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
        a->version = reply->version;
        a->children = reply->children;
        a->data_length = reply->data_length;
        a->failed = reply->failed;
        a->names = reply->rc == STORE_OK ? sorted(reply->names, reply->count) : NULL;
    }
    pthread_mutex_unlock(&record.lock);
}

struct store_sink record_sink(struct client *c)
{
    return (struct store_sink){on_event, on_watch, on_closed, c, &c->monitor, NULL, NULL, NULL};
}

/* ---- its parts ---- */

struct asked *record_ask(struct client *c)
{
    struct asked *asked = g_new0(struct asked, 1);

    asked->client = c;
    pthread_mutex_lock(&record.lock);
    g_ptr_array_add(c->asked, asked);
    pthread_mutex_unlock(&record.lock);
    return asked;
}

void record_take_back(struct asked *asked)
{
    pthread_mutex_lock(&record.lock);
    g_ptr_array_remove(asked->client->asked, asked);
    pthread_mutex_unlock(&record.lock);
}

struct answer *record_answer(struct asked *asked)
{
    return &asked->answer;
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

void record_begin(struct client *c)
{
    c->said = g_array_new(FALSE, TRUE, sizeof(struct said));
    g_array_set_clear_func(c->said, clear_said);
    c->asked = g_ptr_array_new_with_free_func(free_asked);
}

void record_end(struct client *c)
{
    g_array_unref(c->said);
    g_ptr_array_unref(c->asked);
}

void record_check_answers(struct client *c)
{
    for (guint i = 0; i < c->asked->len; i++)
        CHECK_INT(((struct asked *)c->asked->pdata[i])->answer.times, 1);
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

bool record_is_closed(struct client *c)
{
    pthread_mutex_lock(&record.lock);
    bool closed = c->closed;
    pthread_mutex_unlock(&record.lock);
    return closed;
}
