/* A process that locks, so that it can be killed and stopped between any two of its steps. */
#include "hazard.h"

#include "process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 128, RETAIN_MS = 86400000 };

/* ---- the process itself ---- */

struct self {
    enum worker_design design;
    const char *connect, *path, *argument;
    struct raw *raw;
    char node[RAW_PATH_SIZE];
    zkl_session *session;
    zkl_mutex *mutex;
    const zkl_grant *grant;
};

static void say(const char *word, int64_t number)
{
    printf("%s %" PRId64 "\n", word, number);
    fflush(stdout);
}

static bool told_to(void)
{
    char byte;

    return read(STDIN_FILENO, &byte, 1) == 1;
}

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record, (void)data;
}

static bool is_raw(const struct self *s)
{
    return s->design == WORKER_PERSISTENT || s->design == WORKER_USUAL;
}

static bool open_session(struct self *s)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_mutex_options mo = ZKL_MUTEX_OPTIONS_INIT;

    mo.retain_ms = s->design == WORKER_ZKL_RETAINS ? RETAIN_MS : 0;
    if (is_raw(s))
        return (s->raw = raw_open_timeout(s->connect, SESSION_MS)) != NULL;
    o.session_timeout_ms = SESSION_MS;
    o.log = log_nothing;
    return zkl_session_open(&s->session, s->connect, &o, NULL) == 0 &&
           zkl_mutex_new(&s->mutex, s->session, s->path, &mo) == 0 &&
           zkl_session_wait(s->session, ZKL_FOREVER) == 0;
}

static bool lock(struct self *s)
{
    char *child = g_strdup_printf("%s/%s", s->path, s->design == WORKER_USUAL ? "lock-" : "lock");
    int flags = s->design == WORKER_USUAL ? ZOO_EPHEMERAL | ZOO_SEQUENCE : 0;
    bool ok = is_raw(s) ? raw_create(s->raw, child, NULL, -1, flags, s->node) == ZOK
                        : zkl_mutex_lock(s->mutex, ZKL_FOREVER, &s->grant) == 0;

    g_free(child);
    return ok;
}

/* By hand, to have acquired it is to own it: nothing in the process says otherwise. 2: and the
 * connection is said to be up. */
static int owns(const struct self *s)
{
    if (is_raw(s))
        return zoo_state(raw_handle(s->raw)) == ZOO_CONNECTED_STATE ? 2 : 1;
    return zkl_grant_state(s->grant) != ZKL_LOST;
}

static int write_result(struct self *s)
{
    const char *text = "of the paused holder";

    if (s->design == WORKER_WRITES_PLAIN)
        return g_file_set_contents(s->argument, text, -1, NULL) ? 0 : 1;
    return fenced_store(s->argument, "put", zkl_grant_token(s->grant), text, NULL);
}

/* Between two of these the lock is idle. */
static bool lock_and_unlock(struct self *s)
{
    if (!told_to() || !lock(s))
        return false;
    say("token", (int64_t)zkl_grant_token(s->grant));
    say("turn", (int64_t)zkl_grant_turn(s->grant));
    say("unlocked", zkl_mutex_unlock(s->mutex));
    return true;
}

static int finish(struct self *s)
{
    raw_close(s->raw);
    zkl_mutex_free(s->mutex);
    zkl_session_close(s->session);
    return 0;
}

/* DESIGN CONNECT PATH ARGUMENT */
int worker_main(int argc, char **argv)
{
    struct self s = {.raw = NULL};

    if (argc != 4)
        return 64;
    s.design = (enum worker_design)atoi(argv[0]);
    s.connect = argv[1];
    s.path = argv[2];
    s.argument = argv[3];
    if (!open_session(&s))
        return 1;
    say("ready", 0);
    if (s.design == WORKER_ZKL_RETAINS) {
        while (lock_and_unlock(&s))
            continue;
        return finish(&s);
    }
    if (!told_to() || !lock(&s))
        return 1;
    say("token", s.grant ? (int64_t)zkl_grant_token(s.grant) : 0);
    while (told_to()) {
        say("owner", owns(&s));
        if (s.design == WORKER_WRITES_PLAIN || s.design == WORKER_WRITES_FENCED)
            if (told_to()) /* between the check and the act */
                say("wrote", write_result(&s));
    }
    return finish(&s);
}

/* ---- its parent ---- */

void worker_start(struct worker *w, enum worker_design design, const char *connect,
                  const char *path, const char *argument)
{
    int out[2];
    char log[32], number[16];

    REQUIRE(pipe2(out, O_CLOEXEC) == 0);
    g_snprintf(log, sizeof log, "/proc/self/fd/%d", out[1]);
    g_snprintf(number, sizeof number, "%d", (int)design);
    const char *const argv[] = {"/proc/self/exe", "--worker", number, connect, path,
                                argument,         NULL};
    const struct process_options o = {.argv = argv, .log = log};
    w->pid = process_spawn_told(&o, &w->in);
    REQUIRE(w->pid > 0);
    close(out[1]);
    w->out = fdopen(out[0], "r");
    worker_says(w, "ready");
}

void worker_step(struct worker *w)
{
    CHECK_INT(write(w->in, "?", 1), 1);
}

/* Lines of libzookeeper may come between. */
int64_t worker_says(struct worker *w, const char *word)
{
    char line[LINE], found[LINE];
    int64_t number = -1;

    do {
        REQUIRE(fgets(line, sizeof line, w->out) != NULL);
    } while (sscanf(line, "%127s %" SCNd64, found, &number) != 2 || strcmp(found, word) != 0);
    return number;
}

static void worker_close(struct worker *w)
{
    close(w->in);
    fclose(w->out);
}

void worker_kill(struct worker *w)
{
    process_end(w->pid, SIGKILL);
    worker_close(w);
}

void worker_finish(struct worker *w)
{
    close(w->in);
    process_end(w->pid, 0);
    fclose(w->out);
}
