/* One client's requests and events come in one order. */
#include "conform.h"

#include <string.h>

TEST_SUITE(order, .init = conform_init);

static void await_in_order(struct answer *const *answers, int count)
{
    for (int i = 0; i < count; i++) {
        await(answers[i]);
        CHECK(i == 0 || answers[i]->place > answers[i - 1]->place);
    }
}

static bool has_name(const struct answer *list, const char *path)
{
    const char *name = strrchr(path, '/') + 1;

    return g_strv_contains((const char *const *)list->names, name);
}

CASE(list_behind_create)
{
    struct client *c = client_new();
    struct answer *a[2];
    const struct store_request both[] = {req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL),
                                         req(STORE_LIST, at(""))};

    for (int i = 0; i < 5; i++) {
        submit_all(c, both, 2, a, false);
        await_in_order(a, 2);
        REQUIRE(a[0]->rc == STORE_OK && a[1]->rc == STORE_OK);
        CHECK(has_name(a[1], a[0]->path));
        CHECK_INT(g_strv_length(a[1]->names), i + 1);
    }
}

CASE(list_behind_failing_create)
{
    struct client *c = client_new();
    struct answer *a[3];
    const struct store_request all[] = {req_create(at("no/n-"), STORE_EPHEMERAL_SEQUENTIAL),
                                        req(STORE_LIST, at("no")), req(STORE_LIST, at(""))};

    submit_all(c, all, 3, a, false);
    await_in_order(a, 3);
    CHECK_INT(a[0]->rc, STORE_NONODE);
    CHECK_INT(a[1]->rc, STORE_NONODE);
    CHECK_INT(a[2]->rc, STORE_OK);
    CHECK_INT(g_strv_length(a[2]->names), 0);
}

/* Reads behind writes of the same client wait for them, and writes behind reads do not overtake. */
CASE(everything_in_order)
{
    struct client *c = client_new();
    const char *p = at("p");
    const struct store_request all[] = {
        req(STORE_GET, p),       req_create(p, STORE_PERSISTENT),
        req(STORE_GET, p),       req_set(p, "1", -1),
        req(STORE_SYNC, p),      req(STORE_GET, p),
        req_set(p, "2", 0),      req(STORE_DELETE, p),
        req(STORE_LIST, at("")), req(STORE_GET, p),
    };
    static const enum store_rc rcs[] = {STORE_NONODE, STORE_OK,    STORE_OK,         STORE_OK,
                                        STORE_OK,     STORE_OK,    STORE_BADVERSION, STORE_OK,
                                        STORE_OK,     STORE_NONODE};
    struct answer *a[G_N_ELEMENTS(all)];

    submit_all(c, all, G_N_ELEMENTS(all), a, false);
    await_in_order(a, G_N_ELEMENTS(all));
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        CHECK_INT(a[i]->rc, rcs[i]);
    CHECK_INT(a[2]->version, 0);
    CHECK_INT(a[5]->version, 1);
    CHECK_INT(g_strv_length(a[8]->names), 0);
}

/* Creates of several clients at once: each its own number, in the order of their zxids. */
CASE(several_clients)
{
    enum { CLIENTS = 4, EACH = 5 };
    struct answer *a[CLIENTS * EACH];
    struct store_request create[EACH];
    struct client *c[CLIENTS];
    const struct answer *by_number[CLIENTS * EACH] = {NULL};

    for (int i = 0; i < EACH; i++)
        create[i] = req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL);
    for (int i = 0; i < CLIENTS; i++)
        c[i] = client_new();
    for (int i = 0; i < CLIENTS; i++)
        submit_all(c[i], create, EACH, a + i * EACH, false);
    for (int i = 0; i < CLIENTS; i++)
        await_in_order(a + i * EACH, EACH);
    for (int i = 0; i < CLIENTS * EACH; i++) {
        REQUIRE(a[i]->rc == STORE_OK);
        int64_t number = g_ascii_strtoll(a[i]->path + strlen(at("n-")), NULL, 10);
        REQUIRE(number >= 0 && number < CLIENTS * EACH && !by_number[number]);
        by_number[number] = a[i];
    }
    for (int i = 1; i < CLIENTS * EACH; i++)
        CHECK(by_number[i]->czxid > by_number[i - 1]->czxid);
}

/* What one client was answered, another one's next request at the same server shows. */
CASE(seen_by_others)
{
    struct client *a = client_new(), *b = client_new();

    for (int i = 0; i < 5; i++) {
        const struct answer *made = ask(a, req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL));
        CHECK_INT(ask(b, req(STORE_GET, made->path))->czxid, made->czxid);
        RC(b, req(STORE_DELETE, made->path), STORE_OK);
        RC(a, req(STORE_GET, made->path), STORE_NONODE);
    }
}

CASE(event_before_answer_that_shows_it)
{
    struct client *a = client_new(), *b = client_new();

    does(a, "create p, watch p");
    struct answer *set = submit(b, req_set(at("p"), "new", -1));
    const struct answer *get = ask(a, req(STORE_GET, at("p"))); /* the other's is on its way */
    for (int left = 10000; left > 0 && get->rc == STORE_OK && get->version == 0; left--)
        get = ask(a, req(STORE_GET, at("p")));
    CHECK_INT(get->version, 1);
    CHECK_INT(heard(a, at("p")), 1);
    CHECK(place_of_watch(a, at("p")) < get->place);
    CHECK_INT(await(set)->rc, STORE_OK);
}

/* One's own change is told before its answer. */
CASE(event_before_own_answer)
{
    struct client *c = client_new();

    does(c, "create p, create q, watch p, watch q");
    const struct answer *set = ask(c, req_set(at("p"), "new", -1));
    CHECK_INT(heard(c, at("p")), 1);
    CHECK(place_of_watch(c, at("p")) < set->place);
    const struct answer *gone = ask(c, req(STORE_DELETE, at("q")));
    CHECK_INT(heard_gone(c, at("q")), 1);
    CHECK(place_of_watch(c, at("q")) < gone->place);
}
