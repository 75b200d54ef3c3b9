/* A line for one leader: its token and its id, or "nobody". */
#include "elect_look.h"
#include "contenders.h"
#include "json.h"
#include "listener.h"

#include <stdio.h>

struct elect_look {
    struct listener listener; /* the first member */
    const struct elect_options *options;
    zkl_election *election;
    uint64_t token; /* told last */
    bool told;
};

static char *elect_look_as_json(uint64_t token, const char *id)
{
    GString *out = g_string_new("{\"token\": ");

    if (token == 0) {
        g_string_append(out, "null, \"id\": null");
    } else {
        g_string_append_printf(out, "%" G_GUINT64_FORMAT ", \"id\": ", token);
        json_string(out, id);
    }
    g_string_append(out, "}\n");
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
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}

static int open_election(struct onlooker *o)
{
    struct elect_look *l = (struct elect_look *)o;

    return zkl_election_new(&l->election, o->session, o->path, NULL, &l->options->election) == 0
               ? GO_ON
               : fail_last(o->path);
}

/* ---- --leader ---- */

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

static int show_leader(struct onlooker *o)
{
    const struct elect_look *l = (const struct elect_look *)o;
    uint64_t token = 0;
    int code;
    char *id = read_leader(l->election, &token, &code);
    GString *line;

    if (code != 0 && code != ZKL_ENOENT)
        return contenders_failed(o->path);
    if (l->options->json) {
        char *json = elect_look_as_json(token, id);

        fputs(json, stdout);
        g_free(json);
    } else if (id) {
        line = g_string_new(NULL);
        if (o->settings->verbose)
            g_string_append_printf(line, "%" G_GUINT64_FORMAT " ", token);
        append_visible(line, id);
        puts(line->str);
        g_string_free(line, TRUE);
    }
    g_free(id);
    return code == 0 ? STATUS_OK : STATUS_CONFLICT;
}

/* ---- --listen ---- */

/* On a thread of the library, which must not wait for a slow reader: the last leader counts. */
static void on_leader(const zkl_leader *leader, void *data)
{
    struct elect_look *l = data;

    if (l->told && leader->token == l->token)
        return; /* it has proclaimed something */
    l->told = true;
    l->token = leader->token;
    listener_tell(&l->listener,
                  l->options->json ? elect_look_as_json(leader->token, leader->id)
                                   : as_text(leader->token, leader->id),
                  false);
}

static int observe_leaders(struct onlooker *o)
{
    struct elect_look *l = (struct elect_look *)o;

    return zkl_election_watch(&l->listener.observer, l->election, on_leader, l) == 0
               ? GO_ON
               : fail_last(o->path);
}

static int read_first_candidate(zkl_queue **ret, struct reader *r, size_t most)
{
    const struct onlooker *o = r->data;
    zkl_queue_options options = ZKL_QUEUE_OPTIONS_INIT;

    (void)most;
    options.max_nodes = 1;
    return zkl_queue_read(ret, o->session, o->path, &options, ZKL_FOREVER);
}

/* ---- both ---- */

static int look_at_leaders(struct onlooker *o)
{
    const struct elect_look *l = (const struct elect_look *)o;

    return l->options->mode == ELECT_LISTEN ? observe_leaders(o) : show_leader(o);
}

int elect_look(const struct settings *settings, const struct elect_options *options,
               struct events *events)
{
    static const struct onlooker_ops ops = {.open = open_election,
                                            .begin = look_at_leaders,
                                            .see = listener_see,
                                            .end = listener_end,
                                            .read = read_first_candidate};
    struct elect_look l = {.options = options};
    const int status = listener_run(&l.listener, settings, options->run.path, events, &ops);

    zkl_election_free(l.election);
    return status;
}
