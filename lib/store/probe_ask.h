/* Questions that are put to servers on connections of our own, all at once, and what they say in a
 * moment. */
#ifndef LIB_PROBE_ASK_H
#define LIB_PROBE_ASK_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum { ANSWER_MAX = 96, QUESTION_MAX = 64 };

struct question {
    size_t length;
    uint8_t bytes[QUESTION_MAX];
};

/* One connection, for one question; a host may have several addresses. */
struct probe {
    guint host; /* its place in the list */
    const struct question *question;
    int fd; /* -1: the server has closed it, or said enough */
    bool asked;
    int error; /* errno of what has failed; 0: nothing has */
    char answer[ANSWER_MAX + 1];
    size_t length;
};

/* Puts each question to each address of each host; of struct probe, in that order. Blocks for name
 * resolution, and then a moment at most. */
GArray *probe_ask_all(char *const *hosts, const struct question *questions, guint count);

void probe_free_all(GArray *probes);

#endif
