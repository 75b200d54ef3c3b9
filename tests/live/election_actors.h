/* Actors of tests with elections: a record, as one line of words, of what an election or an
 * observer tells. */
#ifndef LIVE_ELECTION_ACTORS_H
#define LIVE_ELECTION_ACTORS_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <zkl.h>

/* "leading asked resigned failed-13 stopped": events, with the error's code where there is one; or
 * "nobody a a=data": the leaders told, with what they proclaimed. */
struct tale {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char text[4096];
    _Atomic uint64_t token; /* of the newest grant or leader */
    char node[512];         /* the same */
    const zkl_grant *grant;
    /* called inside the callback, before it is recorded */
    void (*then)(zkl_election *e, zkl_election_event event, void *data);
    void *data;
};

#define TALE_INIT                                                                                  \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

/* For zkl_election_start() and zkl_election_watch(). */
void tale_event(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                const zkl_error *err, void *tale);
void tale_leader(const zkl_leader *leader, void *tale);

/* Waits until it reads so; fails when it reads otherwise and can not become that any more, or a
 * minute has passed. */
#define TALE_WAIT(tale, text) tale_wait((tale), (text), __FILE__, __LINE__)
void tale_wait(struct tale *t, const char *text, const char *file, int line);

/* That it reads so now. */
#define CHECK_TALE(tale, text) tale_check((tale), (text), __FILE__, __LINE__)
void tale_check(struct tale *t, const char *text, const char *file, int line);

bool tale_ends(struct tale *t, const char *text); /* for what is waited for otherwise */

/* Default options, but the layout. */
zkl_election *election_of(zkl_session *s, const char *path, const char *id);
zkl_election *election_with(zkl_session *s, const char *path, const char *id,
                            const zkl_election_options *options);

/* Where it stands now. */
zkl_election_status election_status(zkl_election *e);

/* Starts and waits until n contenders are below path: an order made visible. */
struct live;
void election_queue(struct live *t, zkl_election *e, struct tale *tale, const char *path, int n);

/* Returns when all told before has been. */
void election_settle(struct live *t, zkl_session *s);

#endif
