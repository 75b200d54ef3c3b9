/* What ZooKeeper does, as cases that run against the simulated one and a real server alike: through
 * store_ops, with the same assertions. The real server is right.
 *
 * A case has clients, each a store with a connection of its own that can be troubled, and all that
 * each was told is kept in the order in which it came. That nothing came is proved by a request
 * behind it, since a server's packets arrive in order. */
#ifndef WORLD_CONFORM_H
#define WORLD_CONFORM_H

#include "lib/store/store.h"
#include "progress.h"
#include "runner.h"

#include <glib.h>

/* ---- what a case runs on ---- */

enum { CONFORM_TICK_MS = 500 };

struct bench {
    const struct store_ops *ops;
    int rounds;        /* of each case, each with another seed */
    int (*init)(void); /* of a suite; may skip it */
    /* So many servers, freshly made or the ones of the case before. */
    bool (*begin)(int servers, int round);
    void (*end)(void);

    /* Something more is said to a client than the first said times; false: not by the limit. */
    bool (*pass)(unsigned said);
    int64_t (*now_ms)(void);

    /* A connection for one client, which finds no other server. hosts is for its store_config. */
    void *(*link)(int server, const char **ret_hosts);
    void (*unlink)(void *link);
    void (*enter)(void *link);            /* the client's code runs from now on; NULL: ours */
    void (*freeze)(void *link, bool on);  /* it stands, but what is sent waits */
    void (*cut)(void *link, bool on);     /* reset, and there is no other until it is off again */
    void (*reset)(void *link);            /* the next one is welcome */
    void (*move)(void *link, int server); /* the next one is to that server */
    /* The next request of that kind ends the connection: before it is done, or after. */
    void (*lose)(void *link, enum store_kind kind, bool after_effect);

    bool (*expire)(int64_t session);                        /* closed by somebody else */
    bool (*refuse)(enum store_kind kind, const char *path); /* for the path and its children */
    /* The servers do not know containers, or create2, either. */
    void (*lack)(void *link, bool create2);
    bool (*count_from)(const char *path, int32_t next); /* with no client there */
    int (*leader)(void);
    bool (*crash)(int server, bool down);
    void (*lag)(int server, int ms);   /* a follower hears of everything that much later */
    int (*watchers)(const char *path); /* sessions, of the node itself, on server 0 */
};

/* Runs all cases; to be called by main. */
int conform_main(int argc, char **argv, const struct bench *bench);

/* How often anything was said to clients so far; the other waits until that is more than said. */
unsigned conform_said(void);
bool conform_wait(unsigned said);

/* ---- clients ---- */

struct answer {
    unsigned times; /* that it was given */
    unsigned place; /* in what the client was told */
    enum store_rc rc;
    char *path, *data;
    int length;
    uint64_t czxid;
    int64_t ephemeral_owner, mtime_ms;
    int32_t version, children, data_length;
    int failed;
    char **names; /* sorted; of a LIST only */
};

struct client;

struct client_wish {
    int server;
    int timeout_ms; /* 0: 10 s */
};

/* Connected when they come back, but the second. They end with the case. */
struct client *client_new(void);
struct client *client_start(struct client_wish wish);
struct client *client_open(struct client_wish wish);
void client_close(struct client *c); /* and waits until it is told that it is through */
void client_wait_closed(struct client *c);

void *client_link(struct client *c);
int64_t client_session(struct client *c); /* of the newest connection */
int client_timeout_ms(struct client *c);

/* NULL if it was not sent. Answers are good until the case ends. */
struct answer *submit(struct client *c, struct store_request request);
/* All of them, and then the end of the client if wanted, before any answer can come. */
void submit_all(struct client *c, const struct store_request *requests, int count,
                struct answer **ret, bool close);
bool is_answered(const struct answer *a);
const struct answer *await(struct answer *a);

/* Sent and answered. */
const struct answer *ask(struct client *c, struct store_request request);

struct store_request req(enum store_kind kind, const char *path);
struct store_request req_create(const char *path, enum store_mode mode);
struct store_request req_create_plain(const char *path, enum store_mode mode);
struct store_request req_watch(const char *path);
struct store_request req_set(const char *path, const char *data, int version);
struct store_request req_multi(const struct store_change *changes, int count);

/* "create p, set p wrongly, read q: no node": each is sent when the one before it is answered, and
 * answered so, or "ok". "." is the node above the others; "wrongly" asks for a version that there
 * is not; the verbs are in conform.c. */
void does(struct client *c, const char *what);

#define RC(client, request, expected) CHECK_INT(ask(client, request)->rc, expected)

/* Everything that was on its way to the client has come; its server knows what others did. */
#define CAUGHT_UP(client) RC(client, req(STORE_SYNC, at("")), STORE_OK)

/* ---- what a client was told ---- */

unsigned events(struct client *c, enum store_event event);
unsigned heard(struct client *c, const char *path); /* watches of it that fired */
unsigned heard_gone(struct client *c, const char *path);
unsigned heard_as(struct client *c, const char *path, enum store_fired fired);
unsigned told(struct client *c); /* all in all: how many places there are */

/* Its place, or UINT_MAX. */
unsigned place_of_event(struct client *c, enum store_event event, unsigned nth);
unsigned place_of_watch(struct client *c, const char *path);

/* When the client last heard of it. */
int64_t heard_at_ms(struct client *c, const char *path);

/* ---- a case ---- */

extern const struct bench *bench;

const char *at(const char *name); /* a path that is this case's own; "": the node above them */

/* Waits until the condition holds: it may look at what clients were told, and at nothing else. */
#define UNTIL(condition)                                                                           \
    for (;;) {                                                                                     \
        unsigned said_ = conform_said();                                                           \
        if (condition)                                                                             \
            break;                                                                                 \
        if (!bench->pass(said_))                                                                   \
            runner_fail_fatal(__FILE__, __LINE__, #condition);                                     \
    }                                                                                              \
    progress_step()

void conform_case(int servers, void (*body)(void));

/* A case with one server; and one of a suite that is not the first of its file. */
#define CASE(name) CASE_IN(this_suite, name, 1)
#define CASE_IN(suite, name, servers)                                                              \
    static void name##_body(void);                                                                 \
    TEST_CASE_OF(suite, name)                                                                      \
    {                                                                                              \
        conform_case(servers, name##_body);                                                        \
    }                                                                                              \
    static void name##_body(void)

int conform_init(void);

#endif
