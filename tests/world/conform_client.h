/* Between conform_client.c, which runs the clients of a case, and conform_record.c, which keeps
 * what they were told. */
#ifndef WORLD_CONFORM_CLIENT_H
#define WORLD_CONFORM_CLIENT_H

#include "conform.h"

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

void clients_init(void);
void clients_end(bool check); /* that each request was answered once */

void record_init(void);
void record_begin(struct client *c);
void record_end(struct client *c);
struct store_sink record_sink(struct client *c);

/* Before it is submitted; take back is for what was not sent. */
struct asked *record_ask(struct client *c);
void record_take_back(struct asked *asked);
struct answer *record_answer(struct asked *asked);
void record_reply(void *asked, const struct store_reply *reply);
bool record_is_closed(struct client *c);
void record_check_answers(struct client *c);

#endif
