/* A user of the world's store that does what the test says and writes down what it is told. */
#ifndef WORLD_PUPPET_H
#define WORLD_PUPPET_H

#include <glib.h>
#include <semaphore.h>

#include "runner.h"
#include "world.h"

#define SECOND INT64_C(1000000000) /* ns */
#define MILLI INT64_C(1000000)

struct puppet {
    struct world *w;
    struct host *host;
    struct store *store; /* NULL: closed */
    pthread_mutex_t monitor;
    sem_t closed;
    bool up, expired;
    int64_t session;
    int timeout_ms;
    unsigned unanswered;
    enum store_event evidence; /* the last event, of any kind */
    enum store_event event;    /* the last one, which heard leaves out while it is away */
    GString *heard;            /* "begin up /a=0 changed:/a down …": a number is an answer's rc */
    /* the newest answer */
    enum store_rc rc;
    char *path, *data;
    uint64_t czxid;
    int64_t ephemeral_owner;
    int failed, length;
    GPtrArray *names; /* as they came */
};

/* The world that the current test has, with notes written down as they come. */
extern struct world *world;
extern GString *notes;
extern int64_t expiring_at; /* when the last session's time was up; 0: none's was */
extern enum cause ended_by; /* the last session to end */
void begin_world(struct world_config config);
void end_world(void); /* with all puppets */

struct puppet *puppet_new(const char *name, const char *hosts, int timeout_ms);
struct puppet *puppet_at(const char *name, int server, int timeout_ms); /* up, there */
void puppet_close(struct puppet *p);

/* Lets time pass until the condition holds; a minute at most. */
#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        int64_t end_ = world_now(world) + 60 * SECOND;                                             \
        while (!(condition) && world_run_next(world, end_))                                        \
            continue;                                                                              \
        REQUIRE(condition);                                                                        \
    } while (0)

void pass(int64_t ns);

/* Sends; and, in do_*, waits for the answer. */
bool puppet_send(struct puppet *p, struct store_request request);
enum store_rc puppet_do(struct puppet *p, struct store_request request);

#define SEND(p, ...) REQUIRE(puppet_send(p, (struct store_request){__VA_ARGS__}))
#define DO(p, ...) puppet_do(p, (struct store_request){__VA_ARGS__})
#define CREATE(p, path_) DO(p, .kind = STORE_CREATE, .path = path_)
#define QUEUE_UP(p, path_)                                                                         \
    DO(p, .kind = STORE_CREATE, .path = path_, .mode = STORE_EPHEMERAL_SEQUENTIAL)
#define GET(p, path_) DO(p, .kind = STORE_GET, .path = path_)
#define WATCH(p, path_) DO(p, .kind = STORE_GET, .path = path_, .watch = true)

/* What it has heard since the last time, of which it is to be freed by the caller. */
void check_heard(struct puppet *p, const char *expected, const char *file, int line);
#define HEARD(p, expected) check_heard(p, expected, __FILE__, __LINE__)

#endif
