/* Clients of a case: what they ask, and their begin and end. */
#include "conform_client.h"

#include <stdlib.h>

static GPtrArray *clients;

void clients_init(void)
{
    record_init();
    clients = g_ptr_array_new();
}

void *client_link(struct client *c)
{
    return c->link;
}

/* ---- requests ---- */

static struct answer *give(struct client *c, const struct store_request *request)
{
    struct asked *asked = record_ask(c);

    if (bench->ops->submit(c->store, request, record_reply, asked))
        return record_answer(asked);
    record_take_back(asked);
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
    struct store_sink sink = record_sink(c);

    pthread_mutex_init(&c->monitor, NULL);
    record_begin(c);
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
        if (record_is_closed(c))
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
    record_end(c);
    g_free(c);
}

void clients_end(bool check)
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
        if (check)
            record_check_answers(c);
        free_client(c);
    }
    g_ptr_array_set_size(clients, 0);
}
