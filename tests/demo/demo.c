/* ./dev demo: real processes increment one file under a zkl lock while one is killed, one cut off
 * and three try to unlock what is not theirs; then the record of it is judged. */
#include "draw.h"
#include "progress.h"
#include "run.h"
#include "tests/history/register.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_PASS = 0, EXIT_FAIL = 1, EXIT_USAGE = 64, EXIT_UNABLE = 69 };

static void interrupt(int sig)
{
    run_interrupted = sig;
}

static void take_signals(void)
{
    struct sigaction sa = {.sa_handler = interrupt};

    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGHUP, &sa, NULL);
    sa.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &sa, NULL); /* an order to a worker that is gone */
}

static bool in_range(const char *name, int value, int least, int most)
{
    if (value >= least && value <= most)
        return true;
    fprintf(stderr, "demo: --%s must be from %d to %d\n", name, least, most);
    return false;
}

/* Better said now than after the run. */
static bool can_draw(const run_options *o)
{
    char *folder = g_path_get_dirname(o->svg);
    bool ok = access(folder, W_OK) == 0;

    if (!ok)
        fprintf(stderr, "demo: %s: %s\n", folder, g_strerror(errno));
    g_free(folder);
    return ok;
}

static bool parse_options(run_options *o, int argc, char **argv)
{
    const GOptionEntry entries[] = {
        {"unsafe", 0, 0, G_OPTION_ARG_NONE, &o->unsafe, "The same without the lock: must fail",
         NULL},
        {"workers", 0, 0, G_OPTION_ARG_INT, &o->workers, "Processes (6)", "N"},
        {"increments", 0, 0, G_OPTION_ARG_INT, &o->increments, "Increments of each (40)", "N"},
        {"svg", 0, 0, G_OPTION_ARG_FILENAME, &o->svg, "The picture (zkl-demo.svg)", "FILE"},
        {"seed", 0, 0, G_OPTION_ARG_INT, &o->seed, "Of the workers' pace (1)", "N"},
        {"keep", 0, 0, G_OPTION_ARG_NONE, &o->keep, "Keep the recorded history", NULL},
        {"quiet", 0, 0, G_OPTION_ARG_NONE, &o->quiet, "The verdict only", NULL},
        {"no-color", 0, 0, G_OPTION_ARG_NONE, &o->no_color, "No colours", NULL},
        {0},
    };
    GOptionContext *context = g_option_context_new("- a lock under fire, and a verdict");
    GError *error = NULL;
    bool ok;

    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse(context, &argc, &argv, &error);
    if (!ok)
        fprintf(stderr, "demo: %s\n", error->message);
    else if (argc > 1)
        fprintf(stderr, "demo: what is %s?\n", argv[1]);
    g_clear_error(&error);
    g_option_context_free(context);
    if (!o->svg)
        o->svg = g_strdup("zkl-demo.svg");
    return ok && argc == 1 && in_range("workers", o->workers, 3, 64) &&
           in_range("increments", o->increments, 10, 10000);
}

static void keep_records(const run *r)
{
    char *folder = g_mkdtemp(g_strdup("zkl-demo-XXXXXX"));

    if (folder)
        scratch_keep(&r->scene.scratch, folder);
    g_free(folder);
}

/* From the files again, not from what was seen on the way. */
static int judge_run(const run *r, const look *l)
{
    history *h = history_new(r->scene.scratch.path);
    verdict_input in = {
        .workers = r->o->workers, .increments = r->o->increments, .unsafe = r->o->unsafe};
    bool sound, drawn, pass;
    verdict *v;

    history_poll(h, &sound);
    history_sort(h);
    in.garbled = !sound;
    in.events = h->events;
    if (!number_read(r->file, &in.end.number, &in.end.token))
        in.end.number = -1;
    v = verdict_new(&in);
    drawn = picture_draw(r->o->svg, r->scene.scratch.path, v, &in, r->o->unsafe);
    if (!r->o->quiet) {
        report_print(v, &in, l);
        timeline_print(v, &in, l);
        if (drawn)
            printf("\nthe same as a picture: %s\n", r->o->svg);
    }
    if (r->o->keep)
        keep_records(r);
    report_verdict(v, l);
    pass = v->pass;
    verdict_free(v);
    history_free(h);
    return pass ? EXIT_PASS : EXIT_FAIL;
}

static int demo(const run_options *o)
{
    look l = look_of_stdout(o->no_color);
    run r = {.scene = {.record = -1}};
    int status = EXIT_UNABLE;
    bool started;

    progress_start(o->quiet, l.colour);
    started = run_start(&r, o);
    if (started)
        run_play(&r);
    progress_stop();
    if (run_interrupted) {
        fprintf(stderr, "demo: interrupted\n");
        status = 128 + run_interrupted;
    } else if (started) {
        status = judge_run(&r, &l);
    }
    run_free(&r);
    return status;
}

int main(int argc, char **argv)
{
    run_options o = {.workers = 6, .increments = 40, .seed = 1};
    int status;

    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(argc - 1, argv + 1);
    take_signals();
    if (!parse_options(&o, argc, argv))
        return EXIT_USAGE;
    status = can_draw(&o) ? demo(&o) : EXIT_USAGE;
    g_free(o.svg);
    return status;
}
