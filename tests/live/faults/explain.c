#include "judge.h"

#include <inttypes.h>
#include <stdio.h>

enum { AROUND_MS = 2500, LINES = 60, ACTORS = 16 };

static void print_event(const event *e, int64_t origin)
{
    printf("      %+10.3f ms  w%-2d %-7d %-8s %-14" PRId64 " %" PRIx64 ".%" PRIu64 "\n",
           (double)(e->ns - origin) / 1e6, e->worker, e->pid, history_kind_name(e->kind), e->value,
           e->token, e->turn);
}

/* What was known about that path, and about the servers, just before and after. */
static void print_around(const judge_input *in, const violation *v)
{
    int64_t from = v->at - AROUND_MS * INT64_C(1000000), to = v->at + AROUND_MS * INT64_C(400000);
    guint left = LINES;
    unsigned paths[ACTORS] = {0};

    for (int w = 0; w < ACTORS; w++)
        paths[w] = claimed_paths(in->events, in->paths, w);
    for (guint i = 0; i < in->events->len && left > 0; i++) {
        const event *e = &g_array_index(in->events, event, i);
        bool here = e->worker < 0 || v->path < 0 || paths[e->worker] >> v->path & 1;

        if (!here || e->ns < from || e->ns > to)
            continue;
        print_event(e, v->at);
        left--;
    }
}

void judgement_explain(const judgement *j, const judge_input *in, guint most)
{
    for (guint i = 0; i < j->violations->len && i < most; i++) {
        const violation *v = &g_array_index(j->violations, violation, i);

        printf("  VIOLATION of V%d on path %d: %s\n", v->number, v->path, v->text);
        if (v->at != 0)
            print_around(in, v);
    }
    if (j->violations->len > most)
        printf("  and %u more violations\n", j->violations->len - most);
}
