/* A line for one leader: its token and its id, or "nobody". */
#include "elect_look.h"
#include "closing.h"
#include "connect.h"
#include "json.h"

#include <stdio.h>

struct looking {
    const struct settings *settings;
    const struct elect_options *options;
    struct events *events;
    zkl_session *session;
    zkl_election *election;
    GAsyncQueue *lines; /* of --listen */
    uint64_t token;     /* told last */
    bool told;
};

static char *as_json(uint64_t token, const char *id)
{
    GString *out = g_string_new("{\"token\": ");

    if (token == 0) {
        g_string_append(out, "null, \"id\": null");
    } else {
        g_string_append_printf(out, "%" G_GUINT64_FORMAT ", \"id\": ", token);
        json_string(out, id);
    }
    g_string_append_c(out, '}');
    return g_string_free(out, FALSE);
}

static char *as_text(uint64_t token, const char *id)
{
    GString *out = g_string_new(NULL);

    if (token == 0) {
        g_string_append(out, "nobody");
    } else {
        g_string_append_printf(out, "%" G_GUINT64_FORMAT " ", token);
        append_visible(out, id);
    }
    return g_string_free(out, FALSE);
}

/* ---- --leader ---- */

static int failed(const struct looking *l)
{
    const char *path = l->options->run.path;
    zkl_error error = {0};

    switch (zkl_last_error(&error)) {
    case ZKL_ETIMEDOUT:
        return fail(STATUS_UNAVAILABLE, "%s: the servers did not answer in time", path);
    default:
        return fail_error(&error, path);
    }
}

/* NULL: the library's error is in *ret_code. */
static char *read_leader(zkl_election *election, uint64_t *ret_token, int *ret_code)
{
    size_t size = 2048;
    char *id = g_malloc(size);

    /* Those who are not zkl may have long ones; no node has more than a megabyte. */
    while ((*ret_code = zkl_election_leader(election, id, size, ret_token)) == ZKL_ERANGE) {
        size *= 2;
        id = g_realloc(id, size);
    }
    if (*ret_code == 0)
        return id;
    g_free(id);
    return NULL;
}

static int show_leader(struct looking *l)
{
    uint64_t token = 0;
    int code;
    char *id = read_leader(l->election, &token, &code);
    GString *line;

    if (code != 0 && code != ZKL_ENOENT)
        return failed(l);
    if (l->options->json) {
        char *json = as_json(token, id);

        puts(json);
        g_free(json);
    } else if (id) {
        line = g_string_new(NULL);
        if (l->settings->verbose)
            g_string_append_printf(line, "%" G_GUINT64_FORMAT " ", token);
        append_visible(line, id);
        puts(line->str);
        g_string_free(line, TRUE);
    }
    g_free(id);
    return code == 0 ? STATUS_OK : STATUS_CONFLICT;
}

/* ---- --listen ---- */

/* On a thread of the library, which must not wait for a slow reader. */
static void on_leader(const zkl_leader *leader, void *data)
{
    struct looking *l = data;

    if (l->told && leader->token == l->token)
        return; /* it has proclaimed something */
    l->told = true;
    l->token = leader->token;
    g_async_queue_push(l->lines, l->options->json ? as_json(leader->token, leader->id)
                                                  : as_text(leader->token, leader->id));
    events_wake(l->events);
}

static int write_lines(const struct looking *l)
{
    char *line;
    int status = GO_ON;

    while (status == GO_ON && (line = g_async_queue_try_pop(l->lines))) {
        char *whole = g_strconcat(line, "\n", NULL);

        status = events_print(l->events, whole);
        g_free(whole);
        g_free(line);
    }
    return status;
}

static int listen_on(struct looking *l)
{
    zkl_watch *observer;
    int status = GO_ON;

    l->lines = g_async_queue_new_full(g_free);
    if (zkl_election_watch(l->election, on_leader, l, &observer) != 0)
        return failed(l);
    while (status == GO_ON) {
        int signo;

        events_wait(l->events);
        signo = events_asked_to_end(l->events);
        status = signo != 0 ? STATUS_SIGNAL + signo : write_lines(l);
    }
    zkl_watch_free(observer);
    return status;
}

/* ---- both ---- */

static int open_election(struct looking *l)
{
    int status = session_open(l->settings, &l->session);

    if (status != GO_ON)
        return status;
    if (zkl_election_new(&l->election, l->session, l->options->run.path, NULL,
                         &l->options->election) != 0)
        return failed(l);
    return session_connect(l->settings, &l->session, ZKL_FOREVER, l->events);
}

int elect_look(const struct settings *settings, const struct elect_options *options,
               struct events *events)
{
    struct looking l = {.settings = settings, .options = options, .events = events};
    int status = open_election(&l);

    if (status == GO_ON)
        status = options->mode == ELECT_LISTEN ? listen_on(&l) : show_leader(&l);
    zkl_election_free(l.election);
    closing_close(l.session, CLOSING_PATIENCE_MS);
    if (l.lines)
        g_async_queue_unref(l.lines);
    return status;
}
