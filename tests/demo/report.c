#include "draw.h"

#include <inttypes.h>
#include <stdio.h>

#define S(ns) ((double)(ns) / 1e9)

static const char *bold(const look *l)
{
    return l->colour ? "\033[1m" : "";
}

static const char *off(const look *l)
{
    return l->colour ? "\033[0m" : "";
}

static char *story_of(const verdict *v, int worker)
{
    GString *s = g_string_new(NULL);

    if (v->foreign.at && v->foreign.holder == worker)
        g_string_append(s, "others tried to unlock its lock");
    if (v->kill.at && v->kill.worker == worker)
        g_string_append_printf(s, "killed with -9%s, started again",
                               v->kill.held ? " while it held" : "");
    if (v->cut.at && v->cut.worker == worker)
        g_string_append_printf(s, "cut off while it held, %s",
                               v->cut.lost ? "told LOST, came back" : "never told");
    if (v->stats[worker].errors > 0)
        g_string_append_printf(s, "%s%u errors", s->len ? ", " : "", v->stats[worker].errors);
    return g_string_free(s, FALSE);
}

static void print_table(const verdict *v, int workers, const look *l)
{
    printf("\n%sworker  increments  acquisitions  longest wait%s\n", bold(l), off(l));
    for (int w = 0; w < workers; w++) {
        const worker_stats *s = &v->stats[w];
        char *story = story_of(v, w);

        printf("w%-6d %10u %13u %11.3f s%s%s\n", w + 1, s->writes, s->grants, S(s->longest_wait),
               *story ? "  " : "", story);
        g_free(story);
    }
}

static double since_start(const verdict *v, int64_t ns)
{
    return S(ns - v->t0);
}

static void print_foreign(const verdict *v)
{
    const foreign_fault *f = &v->foreign;

    if (!f->at)
        return;
    printf("  T+%5.2f s  w%d held; its own second thread and %u other processes tried to unlock: "
           "%u of %u refused,\n             %s\n",
           since_start(v, f->at), f->holder + 1, f->by_process, f->refused, f->tries,
           f->intact ? "and for the server it still held" : "but the lock did not stay untouched");
}

static void print_kill(const verdict *v)
{
    const kill_fault *k = &v->kill;

    if (!k->at)
        return;
    printf("  T+%5.2f s  w%d (pid %d) killed with -9", since_start(v, k->at), k->worker + 1,
           k->pid);
    if (k->held)
        printf(" while it held token %" PRIu64, k->token);
    if (k->next)
        printf(";\n             next grant at T+%.2f s, %.2f s later, token %" PRIu64,
               since_start(v, k->next), S(k->next - k->at), k->next_token);
    printf("\n");
}

static void print_loss(const verdict *v)
{
    const cut_fault *c = &v->cut;

    if (!c->lost) {
        printf("             never told LOST, and %s\n", c->wrote ? "wrote in the end" : "blocked");
        return;
    }
    printf("             ");
    if (c->suspect)
        printf("told SUSPECT at T+%.2f s, ", since_start(v, c->suspect));
    printf("told LOST at T+%.2f s by its own deadline (%.2f s after the cut)\n",
           since_start(v, c->lost), S(c->lost - c->at));
    if (c->next)
        printf("             and stopped; next grant at T+%.2f s, %.2f s %s that, token %" PRIu64
               "\n",
               since_start(v, c->next), S(ABS(c->next - c->lost)),
               c->next >= c->lost ? "after" : "BEFORE", c->next_token);
}

static void print_cut(const verdict *v)
{
    const cut_fault *c = &v->cut;

    if (!c->at)
        return;
    printf("  T+%5.2f s  w%d silently cut off", since_start(v, c->at), c->worker + 1);
    if (c->held)
        printf(" while it held token %" PRIu64, c->token);
    printf("\n");
    print_loss(v);
    if (c->thaw)
        printf("  T+%5.2f s  w%d's connection goes on", since_start(v, c->thaw), c->worker + 1);
    if (c->thaw && c->back)
        printf("; granted again at T+%.2f s, token %" PRIu64, since_start(v, c->back),
               c->back_token);
    if (c->thaw)
        printf("\n");
}

void report_print(const verdict *v, const verdict_input *in, const look *l)
{
    print_table(v, in->workers, l);
    printf("\n%sfaults%s\n", bold(l), off(l));
    print_foreign(v);
    print_kill(v);
    print_cut(v);
}

static void print_tokens(const verdict *v)
{
    if (v->j->falls == 0 && v->j->grants > 0)
        printf("tokens            rising (%u grants)\n", v->j->grants);
    else
        printf("tokens            NOT rising (%u of %u grants)\n", v->j->falls, v->j->grants);
}

static void print_unlocks(const foreign_fault *f)
{
    if (f->tries == 0)
        printf("foreign unlocks   none tried\n");
    else if (f->refused == f->tries)
        printf("foreign unlocks   %u refused\n", f->refused);
    else
        printf("foreign unlocks   %u of %u NOT refused\n", f->tries - f->refused, f->tries);
}

void report_verdict(const verdict *v, const look *l)
{
    const char *colour = !l->colour ? "" : v->pass ? "\033[1;32m" : "\033[1;31m";

    for (guint i = 0; i < v->reasons->len; i++)
        printf("%s%s\n", i == 0 ? "\nwhy it fails\n  " : "  ",
               (const char *)g_ptr_array_index(v->reasons, i));
    printf("\nincrements lost   %u of %u\n", v->j->number.lost, v->j->number.increments);
    printf("overlaps          %u\n", v->j->overlaps);
    print_tokens(v);
    print_unlocks(&v->foreign);
    printf("%sverdict: %s%s\n", colour, v->pass ? "PASS" : "FAIL", off(l));
}
