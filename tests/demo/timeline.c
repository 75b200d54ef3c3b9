/* The timeline for a terminal: a row per worker, a column per slice of time. */
#include "draw.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LABEL = 5, NARROWEST = 50, WIDEST = 240 };

static const char *const worker_colours[] = {"\033[34m", "\033[32m", "\033[36m",
                                             "\033[35m", "\033[33m", "\033[94m"};

/* How full a slice is held, in eighths. */
static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const plain_blocks[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};

/* An unset locale is no statement; today's terminals then are UTF-8. */
static bool is_utf8(void)
{
    if (!getenv("LC_ALL") && !getenv("LC_CTYPE") && !getenv("LANG"))
        return true;
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

look look_of_stdout(bool no_colour)
{
    bool tty = isatty(STDOUT_FILENO);
    look l = {.colour = tty && !no_colour && !getenv("NO_COLOR"), .utf8 = is_utf8(), .width = 100};
    struct winsize ws;

    if (tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
        l.width = CLAMP(ws.ws_col, NARROWEST, WIDEST);
    return l;
}

typedef struct cell {
    int64_t held, waited; /* ns of the slice */
    bool suspect;
    char letter;
} cell;

typedef struct grid {
    int columns, workers;
    int64_t t0, slice;
    cell *cells; /* worker * columns + column */
} grid;

static int column_of(const grid *g, int64_t ns)
{
    int64_t c = (ns - g->t0) / g->slice;

    return (int)CLAMP(c, 0, g->columns - 1);
}

static cell *cell_at(const grid *g, int worker, int column)
{
    return &g->cells[worker * g->columns + column];
}

/* Spreads a stretch of time over the slices it touches. */
static void spread(const grid *g, int worker, int64_t start, int64_t end, bool held)
{
    for (int c = column_of(g, start); c <= column_of(g, end - 1); c++) {
        int64_t from = g->t0 + c * g->slice;
        int64_t part = MIN(end, from + g->slice) - MAX(start, from);
        cell *x = cell_at(g, worker, c);

        if (held)
            x->held += MAX(part, 0);
        else
            x->waited += MAX(part, 0);
    }
}

static void spread_suspect(const grid *g, const hold *n, int64_t end)
{
    if (!n->suspect_at)
        return;
    for (int c = column_of(g, n->suspect_at); c <= column_of(g, end - 1); c++)
        cell_at(g, n->worker, c)->suspect = true;
}

static void fill(const grid *g, const verdict *v, const GArray *marks)
{
    for (guint i = 0; i < v->h->waits->len; i++) {
        const wait_for *w = &g_array_index(v->h->waits, wait_for, i);

        spread(g, w->worker, w->since, MIN(w->end, v->t1), false);
    }
    for (guint i = 0; i < v->h->list->len; i++) {
        const hold *n = &g_array_index(v->h->list, hold, i);
        int64_t end = MIN(n->end, v->t1);

        spread(g, n->worker, n->start, end, true);
        spread_suspect(g, n, end);
    }
    for (guint i = 0; i < marks->len; i++) {
        const mark *m = &g_array_index(marks, mark, i);

        if (m->letter && m->worker >= 0)
            cell_at(g, m->worker, column_of(g, m->ns))->letter = m->letter;
    }
}

/* The look of one slice: its colour, and what is printed. */
static const char *cell_text(const grid *g, const cell *x, int worker, const look *l,
                             const char **colour)
{
    static char letter[2];
    int eighths = (int)((x->held * 8 + g->slice / 2) / g->slice);

    if (x->letter) {
        *colour = "\033[1;37;41m";
        letter[0] = x->letter;
        return letter;
    }
    if (x->held > 0) {
        *colour = x->suspect ? "\033[93m" : worker_colours[worker % 6];
        return (l->utf8 ? blocks : plain_blocks)[CLAMP(eighths, 1, 8)];
    }
    if (x->waited * 2 > g->slice) {
        *colour = "\033[2m";
        return l->utf8 ? "─" : "-";
    }
    *colour = "";
    return " ";
}

static void print_row(const grid *g, int worker, const look *l)
{
    const char *before = "";

    printf("w%-*d", LABEL - 1, worker + 1);
    for (int c = 0; c < g->columns; c++) {
        const char *colour;
        const char *text = cell_text(g, cell_at(g, worker, c), worker, l, &colour);

        if (l->colour && colour != before)
            printf("\033[0m%s", colour);
        before = colour;
        fputs(text, stdout);
    }
    puts(l->colour ? "\033[0m" : "");
}

/* Some tokens below the columns where they were granted: they rise. */
static void print_tokens(const grid *g, const verdict *v)
{
    char *line = g_strnfill((gsize)g->columns, ' ');
    int free_from = 0;

    for (guint i = 0; i < v->h->list->len; i++) {
        const hold *n = &g_array_index(v->h->list, hold, i);
        char *text = g_strdup_printf("#%" PRIu64, n->token);
        int c = column_of(g, n->start), length = (int)strlen(text);

        if (c >= free_from && c + length <= g->columns) {
            memcpy(line + c, text, (size_t)length);
            free_from = c + 10;
        }
        g_free(text);
    }
    g_strchomp(line);
    printf("%*s%s\n", LABEL, "", line);
    g_free(line);
}

static void print_axis(const grid *g)
{
    char *line = g_strnfill((gsize)g->columns + 8, ' ');
    double seconds = (double)g->slice * g->columns / 1e9;
    int step = seconds > 40 ? 5 : seconds > 12 ? 2 : 1;

    for (int s = 0; s <= (int)seconds; s += step) {
        int c = column_of(g, g->t0 + (int64_t)s * 1000000000);
        char *text = g_strdup_printf("|%d s", s);

        memcpy(line + c, text, strlen(text));
        g_free(text);
    }
    g_strchomp(line);
    printf("%*s%s\n", LABEL, "", line);
    g_free(line);
}

static void print_legend(const grid *g, const look *l)
{
    const char *const *set = l->utf8 ? blocks : plain_blocks;

    printf("%*sone column is %.0f ms; %s to %s holds for that part of it, %s waits, # token\n",
           LABEL, "", (double)g->slice / 1e6, set[1], set[8], l->utf8 ? "─" : "-");
    printf("%*sF foreign unlocks  K killed -9  C cut off  S told SUSPECT  L told LOST  "
           "T connection goes on\n",
           LABEL, "");
}

void timeline_print(const verdict *v, const verdict_input *in, const look *l)
{
    grid g = {.columns = l->width - LABEL - 5, .workers = in->workers, .t0 = v->t0};
    GArray *marks;

    if (v->h->list->len == 0)
        return;
    g.slice = MAX((v->t1 - v->t0) / g.columns + 1, 1);
    g.cells = g_new0(cell, (gsize)g.columns * (gsize)g.workers);
    marks = marks_new(v);
    fill(&g, v, marks);
    printf("\nwho held the lock when\n");
    for (int w = 0; w < g.workers; w++)
        print_row(&g, w, l);
    print_tokens(&g, v);
    print_axis(&g);
    print_legend(&g, l);
    marks_free(marks);
    g_free(g.cells);
}
