/* Questions that are put to servers on connections of our own, all at once, and what they say in a
 * moment. */
#ifndef LIB_PROBE_ASK_H
#define LIB_PROBE_ASK_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "names.h"
#include "tls.h"

enum { ANSWER_MAX = 96, QUESTION_MAX = 64 };

struct question {
    size_t length;
    uint8_t bytes[QUESTION_MAX];
};

/* One connection, for one question; a host may have several addresses. */
struct probe {
    guint host; /* its place in the list */
    struct address address;
    const struct question *question;
    int fd;                 /* -1: the server has closed it, or said enough */
    short events;           /* to wait for */
    struct tls_stream *tls; /* NULL: none */
    bool ready, asked;      /* ready: to be asked */
    int error;              /* errno of what has failed; 0: nothing has */
    char answer[ANSWER_MAX + 1];
    size_t length;
};

/* Puts each question to each address of each host; of struct probe, in that order. tls NULL: none.
 * Blocks for name resolution, and then a moment at most. When enough is true of one the others have
 * as long again, and a little; NULL: all are waited for. */
GArray *probe_ask_all(char *const *hosts, const struct question *questions, guint count,
                      struct tls *tls, bool (*enough)(const struct probe *));

void probe_free_all(GArray *probes);

#endif
