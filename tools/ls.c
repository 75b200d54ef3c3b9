/* zkl ls: the queue of one path, for people or as JSON. */
#include "connect.h"
#include "json.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* The server's clock against ours: only for people to read, so that it may be a little wrong. */
static int64_t age_ms(const zkl_contender *c)
{
    const int64_t age = g_get_real_time() / 1000 - c->ctime_ms;

    return age > 0 ? age : 0;
}

static char *age_text(int64_t ms)
{
    const int64_t s = ms / 1000;

    if (s < 60)
        return g_strdup_printf("%" PRId64 "s", s);
    if (s < 3600)
        return g_strdup_printf("%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    if (s < 86400)
        return g_strdup_printf("%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    return g_strdup_printf("%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
}

static void table_contender(struct table *t, const zkl_contender *c, size_t position)
{
    char *age = age_text(age_ms(c));

    if (c->holds)
        table_cell(t, "HOLDS");
    else
        table_cell_printf(t, "waiting #%zu", position);
    table_cell_printf(t, "%" PRIu64, c->token);
    table_cell(t, age);
    table_cell_printf(t, "0x%" PRIx64, (uint64_t)c->session_id);
    table_cell(t, c->owner[0] ? c->owner : "-");
    table_cell(t, c->node);
    g_free(age);
}

static GString *as_table(const zkl_queue *q)
{
    static const char *const heads[] = {"STATE", "TOKEN", "AGE", "SESSION", "OWNER", "NODE"};
    const unsigned right = 1u << 1 | 1u << 2; /* numbers line up at their end */
    struct table *t = table_new(heads, G_N_ELEMENTS(heads), right);

    for (size_t i = 0; i < zkl_queue_count(q); i++)
        table_contender(t, zkl_queue_get(q, i), i);
    return table_end(t);
}

static void json_contender(GString *out, const zkl_contender *c, size_t position)
{
    g_string_append_printf(out, "  {\"position\": %zu, \"state\": \"%s\", \"token\": %" PRIu64,
                           position, c->holds ? "holds" : "waiting", c->token);
    g_string_append_printf(out, ", \"age_ms\": %" PRId64 ", \"created_ms\": %" PRId64, age_ms(c),
                           c->ctime_ms);
    g_string_append_printf(
        out, ", \"session\": \"0x%" PRIx64 "\", \"owner\": ", (uint64_t)c->session_id);
    json_string(out, c->owner);
    g_string_append(out, ", \"node\": ");
    json_string(out, c->node);
    g_string_append_printf(out, ", \"number\": %" PRId64 "}", c->number);
}

static GString *as_json(const zkl_queue *q)
{
    GString *out = g_string_new("[");

    for (size_t i = 0; i < zkl_queue_count(q); i++) {
        g_string_append(out, i == 0 ? "\n" : ",\n");
        json_contender(out, zkl_queue_get(q, i), i);
    }
    g_string_append(out, zkl_queue_count(q) ? "\n]\n" : "]\n");
    return out;
}

static int no_queue(const char *path)
{
    zkl_error error = {0};

    switch (zkl_last_error(&error)) {
    case ZKL_ENOENT:
        return fail(STATUS_CONFLICT, "%s: no such path", path);
    case ZKL_ETIMEDOUT:
        return fail(STATUS_UNAVAILABLE, "%s: no answer in time", path);
    default:
        return fail_error(&error, path);
    }
}

static int show(zkl_session *session, const char *path, int64_t timeout_ms, bool json)
{
    zkl_queue *q;
    GString *text;

    if (zkl_queue_read(&q, session, path, timeout_ms) != 0)
        return no_queue(path);
    text = json ? as_json(q) : as_table(q);
    if (json || zkl_queue_count(q) > 0)
        fputs(text->str, stdout);
    else
        say("%s: no contenders", path);
    g_string_free(text, TRUE);
    zkl_queue_free(q);
    return STATUS_OK;
}

int verb_ls(struct settings *settings, int argc, char **argv)
{
    gboolean json = FALSE;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "Write a JSON array", NULL}, G_OPTION_ENTRY_NULL};
    const GOptionEntry *const tables[] = {entries, NULL};
    const char *summary = "Shows who holds the lock PATH and who waits, in order.";
    zkl_session *session = NULL;
    const char *path;
    int64_t timeout_ms;
    int status = options_parse(settings, tables, "ls PATH [OPTION...]", summary, &argc, &argv);

    if (status == GO_ON && argc < 2)
        return fail(STATUS_USAGE, "no PATH given; \"zkl ls --help\" has the options");
    path = status == GO_ON ? argv[1] : NULL;
    if (path) { /* options may follow it */
        argc--;
        argv++;
        status = options_parse(settings, tables, "ls PATH", summary, &argc, &argv);
    }
    if (status == GO_ON && argc > 1)
        return fail(STATUS_USAGE, "%s: one PATH is enough", argv[1]);
    if (status == GO_ON)
        status = connect_timeout_ms(settings, &timeout_ms);
    if (status == GO_ON)
        status = session_open(settings, &session);
    if (status == GO_ON)
        status = show(session, path, timeout_ms, json);
    zkl_session_close(session);
    return status;
}
