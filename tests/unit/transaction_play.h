/* The machine of fenced transactions in exchanges: what it is told, and what it asks for then. */
#ifndef UNIT_TRANSACTION_PLAY_H
#define UNIT_TRANSACTION_PLAY_H

#include "recipes/transaction.h"

#include <stddef.h>

enum { EXCHANGE_MAX = 16 };

/* With what the driver adds to each event. */
#define EV(name, ...)                                                                              \
    {                                                                                              \
        .kind = TX_EV_##name, .ready = true, ##__VA_ARGS__                                         \
    }
#define READ(v, n, ...) EV(READ, .version = (v), .number = (n), ##__VA_ARGS__)
#define OUTDATED EV(OUTDATED, .error = 9)
#define UNHEARD                                                                                    \
    {                                                                                              \
        .kind = TX_EV_BEGIN                                                                        \
    } /* on a connection that has answered nothing yet */
#define REFUSED(change) EV(REFUSED, .error = 5, .failed = (change))

struct exchange {
    const char *what;
    struct {
        struct transaction_event ev;
        const char *acts;
    } steps[EXCHANGE_MAX];
};

/* What it asks for then, in words; g_free() it. */
char *exchange_step(struct transaction *t, const struct transaction_event *ev);

/* Each from the beginning, as far as there are steps. */
void exchange_play(const struct exchange *rows, size_t count);

#endif
