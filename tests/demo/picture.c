/* The run as a picture: written here as data, in seconds since it began; bench/plot.py draws it. */
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define S(ns) ((double)(ns) / 1e9)

static void add_words(GString *json, const verdict *v, int workers, bool unsafe)
{
    g_string_append_printf(json,
                           "\"title\": \"zkl: who held the lock when%s\",\n"
                           "\"facts\": \"%d processes, %u increments of one file, "
                           "%u grants in %.1f s, on a real ZooKeeper\",\n"
                           "\"pass\": %s,\n"
                           "\"verdict\": \"increments lost %u, overlaps %u, tokens %s, ",
                           unsafe ? " (run without the lock)" : "", workers,
                           v->j->number.increments, v->j->grants, S(v->t1 - v->t0),
                           v->pass ? "true" : "false", v->j->number.lost, v->j->overlaps,
                           v->j->falls == 0 ? "rising" : "not rising");
    if (v->foreign.tries == 0)
        g_string_append(json, "foreign unlocks none tried\"");
    else
        g_string_append_printf(json, "foreign unlocks refused %u of %u\"", v->foreign.refused,
                               v->foreign.tries);
}

static void G_GNUC_PRINTF(2, 3) add_item(GString *json, const char *format, ...)
{
    va_list args;

    g_string_append(json, g_str_has_suffix(json->str, "[") ? "\n" : ",\n");
    va_start(args, format);
    g_string_append_vprintf(json, format, args);
    va_end(args);
}

/* Worker, start, where doubt begins, end, token. */
static void add_holds(GString *json, const verdict *v)
{
    g_string_append(json, ",\n\"holds\": [");
    for (guint i = 0; i < v->h->list->len; i++) {
        const hold *n = &g_array_index(v->h->list, hold, i);
        int64_t end = MIN(n->end, v->t1);
        int64_t doubt = n->suspect_at ? MIN(n->suspect_at, end) : end;

        add_item(json, "[%d, %.6f, %.6f, %.6f, %" PRIu64 "]", n->worker, S(n->start - v->t0),
                 S(doubt - v->t0), S(end - v->t0), n->token);
    }
    g_string_append(json, "]");
}

static void add_waits(GString *json, const verdict *v)
{
    g_string_append(json, ",\n\"waits\": [");
    for (guint i = 0; i < v->h->waits->len; i++) {
        const wait_for *w = &g_array_index(v->h->waits, wait_for, i);

        add_item(json, "[%d, %.6f, %.6f]", w->worker, S(w->since - v->t0),
                 S(MIN(w->end, v->t1) - v->t0));
    }
    g_string_append(json, "]");
}

static void add_marks(GString *json, const verdict *v)
{
    GArray *marks = marks_new(v);

    g_string_append(json, ",\n\"marks\": [");
    for (guint i = 0; i < marks->len; i++) {
        const mark *m = &g_array_index(marks, mark, i);

        add_item(json, "[%.6f, %d, \"%.1s\", \"%s\"]", S(m->ns - v->t0), m->worker, &m->letter,
                 m->label);
    }
    g_string_append(json, "]");
    marks_free(marks);
}

/* false with why, a line, when this Python cannot draw. */
static bool run_plot(const char *python, const char *data, const char *file, char **why)
{
    const char *argv[] = {python, "-B", PLOT, data, file, NULL};
    GError *error = NULL;
    char *said = NULL;
    int status = -1;
    bool ok =
        g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                     NULL, NULL, NULL, &said, &status, &error) &&
        status == 0;

    g_free(*why);
    *why = NULL;
    if (!ok) {
        char *last = said ? strrchr(g_strchomp(said), '\n') : NULL;

        *why = g_strdup(error ? error->message : last ? last + 1 : said);
    }
    g_clear_error(&error);
    g_free(said);
    return ok;
}

bool picture_draw(const char *file, const char *dir, const verdict *v, const verdict_input *in,
                  bool unsafe)
{
    GString *json = g_string_new("{");
    char *data = g_build_filename(dir, "picture.json", NULL), *why = NULL;
    GError *error = NULL;
    bool drawn;

    add_words(json, v, in->workers, unsafe);
    g_string_append_printf(json, ",\n\"workers\": %d, \"end\": %.6f", in->workers,
                           S(v->t1 - v->t0));
    add_holds(json, v);
    add_waits(json, v);
    add_marks(json, v);
    g_string_append(json, "}\n");
    if (!g_file_set_contents(data, json->str, (gssize)json->len, &error))
        why = g_strdup(error->message);
    /* Debian's matplotlib is for Debian's Python, which need not be the first one in PATH. */
    drawn = !error && (run_plot("python3", data, file, &why) ||
                       run_plot("/usr/bin/python3", data, file, &why));
    if (!drawn)
        fprintf(stderr, "demo: no picture (it needs python3 and matplotlib): %s\n", why);
    g_clear_error(&error);
    g_free(why);
    g_free(data);
    g_string_free(json, TRUE);
    return drawn;
}
