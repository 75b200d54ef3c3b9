#include "chaos_worker.h"

#include "chaos_judge.h"
#include "tests/history/register.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zkl.h>

enum { PAUSE_US = 4000, LOOK_US = 2000, LINE_SIZE = 160 };

struct worker {
    const char *number, *hold;
    int history;
    bool careless;
};

/* By one write(): nothing is lost when the process dies. What cannot be recorded is not done. */
static void record(const struct worker *w, act_word word, uint64_t token, int64_t number)
{
    char line[LINE_SIZE];
    int n =
        snprintf(line, sizeof line, "%" PRId64 " %s careful %d %" PRIu64 " %" PRId64 "\n",
                 g_get_monotonic_time() * 1000, act_word_name(word), (int)getpid(), token, number);

    if (write(w->history, line, (size_t)n) != n)
        exit(3);
}

static void pause_holding(const struct worker *w)
{
    g_usleep((gulong)g_random_int_range(0, PAUSE_US));
    while (access(w->hold, F_OK) == 0)
        g_usleep(LOOK_US);
}

/* Reads the number, and writes one more: nothing but the lock protects it in between. A worker that
 * is stopped between the last look and the write may come too late, whatever the lock does. So
 * nobody is stopped after GO: see roles_stop(). */
static void use(const struct worker *w, const zkl_grant *g)
{
    uint64_t token = zkl_grant_token(g), last;
    int64_t number;

    if (!number_read(w->number, &number, &last))
        exit(4);
    record(w, ACT_READ, token, number);
    pause_holding(w);
    record(w, ACT_GO, token, number);
    if (!w->careless && zkl_grant_remaining_ms(g) < MARGIN_MS) {
        record(w, ACT_SKIP, token, number);
        return;
    }
    if (!number_write(w->number, number + 1, token))
        exit(4);
    record(w, ACT_END, token, number + 1);
}

static bool told(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&in, 1, 0) > 0;
}

static int work(const struct worker *w, zkl_mutex *m)
{
    while (!told()) {
        const zkl_grant *g;
        int err = zkl_mutex_lock(m, ZKL_FOREVER, &g);

        if (err == 0) {
            use(w, g);
            err = zkl_mutex_unlock(m);
        }
        if (err != 0 && err != ZKL_ELOST) {
            fprintf(stderr, "careful: %s\n", zkl_strerror(err));
            return 1;
        }
    }
    return 0;
}

int chaos_worker(int argc, char **argv)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_mutex *m;

    if (argc != 8)
        return 64;
    struct worker w = {.number = argv[3], .hold = argv[5], .careless = strcmp(argv[7], "1") == 0};
    w.history = open(argv[4], O_WRONLY | O_APPEND | O_CLOEXEC);
    o.session_timeout_ms = atoi(argv[6]);
    if (w.history < 0 || zkl_session_open(&s, argv[1], &o, NULL) != 0)
        return 69;
    int status = zkl_mutex_new(&m, s, argv[2], NULL) == 0 ? work(&w, m) : 69;
    zkl_mutex_free(m);
    zkl_session_close(s);
    return status;
}
