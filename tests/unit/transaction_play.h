/* The machine of fenced transactions in exchanges: what it is told, and what it asks for then. */
#ifndef UNIT_TRANSACTION_PLAY_H
#define UNIT_TRANSACTION_PLAY_H

#include "recipes/transaction.h"

#include <stddef.h>

enum { EXCHANGE_MAX = 16 };

/* With what is so at that moment. */
struct told {
    struct machine_event ev;
    struct transaction_moment now;
};

#define HAPPENS(name, ...)                                                                         \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_##name, ##__VA_ARGS__ }                                          \
    }
#define BEGIN(...)                                                                                 \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_BEGIN, .connection = 1}, .now = {.number = 0, ##__VA_ARGS__ }    \
    }
#define UNHEARD HAPPENS(BEGIN) /* on a connection that has answered nothing yet */
#define STOP HAPPENS(STOP)
#define STOP_UNSENT HAPPENS(STOP, .unsent = true)
#define SESSION HAPPENS(SESSION)
#define SESSION_UNSENT HAPPENS(SESSION, .unsent = true)
#define ANSWERED(asked, code, ...)                                                                 \
    HAPPENS(ANSWER, .verb = STORE_##asked, .rc = STORE_##code, .connection = 1, ##__VA_ARGS__)
#define APPLIED ANSWERED(MULTI, OK)
#define OUTDATED ANSWERED(MULTI, BADVERSION)
#define REFUSED(change) ANSWERED(MULTI, NOCHILDREN, .failed = (change))
#define LOST ANSWERED(MULTI, UNKNOWN)
#define UNSENT ANSWERED(MULTI, UNKNOWN, .unsent = true)
#define NO_NODE ANSWERED(MULTI, NONODE)
#define UNREAD(code) ANSWERED(GET, code)
#define READ(v, n, ...)                                                                            \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_ANSWER, .verb = STORE_GET, .connection = 1, .version = (v)},     \
        .now = {                                                                                   \
            .number = (n),                                                                         \
            ##__VA_ARGS__                                                                          \
        }                                                                                          \
    }

struct exchange_row {
    const char *what;
    struct {
        struct told told;
        const char *acts;
    } steps[EXCHANGE_MAX];
};

/* What it asks for then, in words; g_free() it. */
char *exchange_step(struct transaction *t, const struct told *told);

/* Each from the beginning, as far as there are steps. */
void exchange_play(const struct exchange_row *rows, size_t count);

#endif
