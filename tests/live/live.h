/* What the live tests share: one server for the whole run, and around each test a session, a path
 * of its own and the check that nothing is left behind. */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "progress.h"
#include "raw.h"
#include "runner.h"
#include "server.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <zkl.h>

struct live {
    zkl_session *session;  /* 10 s, established */
    struct raw *admin;     /* for setting up and looking; it never watches */
    const char *connect;   /* of the server, which stands alone */
    int port;              /* of the server */
    char path[128];        /* this test's own, below which everything it makes shall be */
    char lock[140];        /* path/lock, not made either */
    GPtrArray *sessions;   /* closed by live_end() */
    GPtrArray *mutexes;    /* freed by it behind that; guarded by mutex */
    GPtrArray *lines;      /* of the sessions' logs; see live_logged() */
    pthread_mutex_t mutex; /* guards lines, too */
};

/* A suite's init: skips it where there is no server. */
int live_init(void);

/* The start of every test. */
struct live *live_begin(void);

/* The end of every test: its sessions being open still, no contender below its path and no watch
 * may be left on the server. Then closes them and deletes the path. A test that failed fatally
 * does not come here: the next one gets a new server, since sessions may be left. */
void live_end(struct live *t);

void live_shutdown(void);

/* Options of java for servers that leave empty containers alone: others are gone before an
 * emptiness is read, and with them who may do what there. */
extern const char *const live_jvm[];

/* live --counter-worker ARGUMENTS, and so on: processes of the suites counter, thread_refused and
 * xid. */
int counter_worker(int argc, char **argv);
int thread_worker(int argc, char **argv);
int xid_worker(int argc, char **argv);

/* Another session, closed by live_end(), established when it returns. options may be NULL; a log
 * callback and level are set unless there is one. */
zkl_session *live_open(struct live *t, const char *connect, const zkl_session_options *options);

/* The same, not waited for. */
zkl_session *live_open_only(struct live *t, const char *connect,
                            const zkl_session_options *options);

/* Closes one before live_end() does. */
void live_close(struct live *t, zkl_session *s);

/* Makes the lock's directory before zkl does. */
void live_make_directory(struct live *t);

/* A child there with a payload that is no text; its path, for g_free(). */
char *live_foreign_node(struct live *t, const char *name, int flags);

/* A mutex, freed by live_end(), or before that. */
zkl_mutex *live_mutex(zkl_session *s, const char *path);
zkl_mutex *live_mutex_options(zkl_session *s, const char *path, const zkl_mutex_options *options);
void live_mutex_free(zkl_mutex *m);

/* Lines with needle that the sessions logged. */
int live_logged(struct live *t, const char *needle);

/* What the server has: */
int live_contenders(struct live *t, const char *path); /* ephemeral children */
char **live_queue(struct live *t, const char *path);   /* their paths in order, for g_strfreev() */
int live_watches(struct live *t);

/* Polls until the condition holds, or else the test has failed and ends. For what tells nobody: the
 * state of the server, and of a library thread. */
#define LIVE_UNTIL(condition) REQUIRE(AWAIT(condition))

/* Checks the thread's last error: its code, and that its text or path names the thing. */
#define CHECK_ERROR(code, named) live_check_error((code), (named), __FILE__, __LINE__)

void live_check_error(int code, const char *named, const char *file, int line);

#endif
