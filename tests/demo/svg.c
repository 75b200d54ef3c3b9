/* The timeline as a picture: the whole run, and a close-up of ordinary hand-overs. */
#include "svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define S(ns) ((double)(ns) / 1e9)

static const char style[] =
    "<style>\n"
    "  text { font-family: system-ui, 'DejaVu Sans', sans-serif; font-size: 12px; fill: #24292f }\n"
    "  .title { font-size: 20px; font-weight: 600 } .sub { font-size: 13px }\n"
    "  .small { font-size: 10px } .dim { fill: #57606a } .bold { font-weight: 600 }\n"
    "  .paper { fill: #ffffff } .lane { fill: #f3f5f7 } .grid { stroke: #d0d7de }\n"
    "  .wait { stroke: #8c959f; stroke-width: 1.5 } .hold { fill: #2f6fd0 }\n"
    "  .suspect { fill: #d4a72c } .overlap { fill: #d1242f; fill-opacity: .22 }\n"
    "  .pass { fill: #1a7f37 } .fail { fill: #d1242f } .link { stroke: #d0d7de; fill: none }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    text { fill: #e6edf3 } .dim { fill: #9198a1 } .paper { fill: #0d1117 }\n"
    "    .lane { fill: #161b22 } .grid, .link { stroke: #30363d } .wait { stroke: #6e7681 }\n"
    "    .hold { fill: #58a6ff } .suspect { fill: #e3b341 } .pass { fill: #3fb950 }\n"
    "    .fail { fill: #ff7b72 } .mark { filter: brightness(1.5) }\n"
    "  }\n"
    "</style>\n";

static void draw_head(GString *out, const verdict *v, int workers, bool unsafe)
{
    char *unlocks = v->foreign.tries == 0
                        ? g_strdup("none tried")
                        : g_strdup_printf("refused %u of %u", v->foreign.refused, v->foreign.tries);

    g_string_append_printf(
        out, "<text x=\"%d\" y=\"34\" class=\"title\">zkl: who held the lock when%s</text>\n",
        SVG_LEFT, unsafe ? " (run without the lock)" : "");
    g_string_append_printf(out,
                           "<text x=\"%d\" y=\"56\" class=\"sub dim\">%d processes, %" PRId64
                           " increments of one "
                           "file, %u grants in %.1f s, on a real ZooKeeper</text>\n",
                           SVG_LEFT, workers, v->acknowledged, v->grants, S(v->t->t1 - v->t->t0));
    g_string_append_printf(
        out,
        "<text x=\"%d\" y=\"78\" class=\"sub bold %s\">%s: increments lost %" PRId64
        ", overlaps %u, tokens %s, foreign unlocks %s</text>\n",
        SVG_LEFT, v->pass ? "pass" : "fail", v->pass ? "PASS" : "FAIL", v->lost, v->overlaps,
        v->falls == 0 ? "rising" : "not rising", unlocks);
    g_free(unlocks);
}

static void draw_legend(GString *out, int y)
{
    g_string_append_printf(
        out,
        "<g transform=\"translate(%d %d)\">\n"
        "  <rect class=\"hold\" x=\"0\" y=\"-9\" width=\"26\" height=\"11\" rx=\"2\"/>"
        "<text x=\"33\">holds</text>\n"
        "  <rect class=\"suspect\" x=\"90\" y=\"-9\" width=\"26\" height=\"11\" rx=\"2\"/>"
        "<text x=\"123\">holds, but told SUSPECT</text>\n"
        "  <line class=\"wait\" x1=\"290\" x2=\"316\" y1=\"-4\" y2=\"-4\"/>"
        "<text x=\"323\">waits</text>\n"
        "  <rect class=\"overlap\" x=\"380\" y=\"-11\" width=\"26\" height=\"15\"/>"
        "<text x=\"413\">two hold at once</text>\n"
        "  <text x=\"540\" class=\"dim\">#17: a grant and its token. Seconds since the workers "
        "began.</text>\n</g>\n",
        SVG_LEFT, y);
}

/* The seconds from the start up to where an ordinary stretch of hand-overs is best seen. */
static bool close_up(const verdict *v, panel *p)
{
    const GArray *list = v->t->list;
    const tenure *n;

    if (list->len < 24)
        return false;
    n = &g_array_index(list, tenure, 8);
    p->from = n->start - 2000000;
    p->to = MIN(g_array_index(list, tenure, 20).start, p->from + (int64_t)3 * 1000000000);
    return true;
}

bool svg_write(const char *file, const verdict *v, const verdict_input *in, bool unsafe)
{
    GArray *marks = marks_new(v);
    GString *body = g_string_new(NULL), *out = g_string_new(NULL);
    panel whole = {
        .v = v, .workers = in->workers, .from = v->t->t0, .to = v->t->t1 + 1, .lane = 30};
    panel close = {.v = v, .workers = in->workers, .lane = 22, .tokens_all = true};
    GError *error = NULL;
    int y = 92;
    bool ok;

    draw_head(body, v, in->workers, unsafe);
    whole.y = y + svg_marks_height(&whole, marks);
    svg_panel(body, &whole);
    svg_marks(body, &whole, marks, y);
    y = svg_panel_bottom(&whole) + 34;
    if (close_up(v, &close)) {
        g_string_append_printf(
            body, "<text x=\"%d\" y=\"%d\" class=\"bold\">Close-up: %.0f ms%s</text>\n", SVG_LEFT,
            y + 8, (double)(close.to - close.from) / 1e6, unsafe ? "" : " of ordinary hand-overs");
        close.y = y + 20;
        svg_panel(body, &close);
        y = svg_panel_bottom(&close) + 34;
    }
    draw_legend(body, y + 4);
    g_string_append_printf(out,
                           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                           "viewBox=\"0 0 %d %d\">\n<title>zkl: who held the lock when</title>\n%s"
                           "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n%s</svg>\n",
                           SVG_WIDTH, y + 24, SVG_WIDTH, y + 24, style, body->str);
    ok = g_file_set_contents(file, out->str, (gssize)out->len, &error);
    if (!ok)
        fprintf(stderr, "demo: %s\n", error->message);
    g_clear_error(&error);
    g_string_free(out, TRUE);
    g_string_free(body, TRUE);
    marks_free(marks);
    return ok;
}
