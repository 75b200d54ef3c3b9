#include "campaign.h"

#include <stdio.h>

static const char *const promises[VERDICTS] = {
    "the history makes sense, no call failed",
    "V1 no two owners at once",
    "V2 no grant before another's deadline",
    "V3 tokens rise, and turns of a token",
    "V4 the register took nothing stale and lost nothing",
    "V5 everyone alive was served",
    "V6 no node is left",
    "V7 each loss was told once",
};

static void row(const char *what, long long count)
{
    printf("  %-34s %8lld\n", what, count);
}

static void row_seconds(const char *what, int64_t ns)
{
    printf("  %-34s %8.2f s\n", what, (double)ns / 1e9);
}

static void print_faults(const struct campaign *c)
{
    int sum = 0;

    for (int k = 0; k < fault_kind_count; k++) {
        sum += c->injected[k];
        if (c->injected[k] > 0)
            row(fault_kinds[k].name, c->injected[k]);
    }
    row("faults in all", sum);
}

static guint count_violations(const judgement *j, int number)
{
    guint count = 0;

    for (guint i = 0; i < j->violations->len; i++)
        count += g_array_index(j->violations, violation, i).number == number;
    return count;
}

void campaign_print(const struct campaign *c, int *passed, int *failed)
{
    const judgement *j = c->judgement;

    printf("  ---- seed %d, %d server%s, %d s ----\n", c->seed, c->nodes, c->nodes > 1 ? "s" : "",
           c->took_s);
    print_faults(c);
    row("grants", j->grants);
    row("  later turns of a token", j->turns);
    row("losses", j->losses);
    row("holders killed", j->kills);
    row("taken away by a third party", j->third_party);
    row("overlaps", j->overlaps);
    row("stale writes refused", j->refused);
    row("unserved", j->unserved);
    row("nodes left", j->nodes_left);
    row_seconds("longest wait", j->longest_wait);
    row_seconds("  and for a lock that nobody used", j->longest_unused);
    printf("  %-34s %8.2f\n", "    of timeout and 1.5 ticks", j->unused_share);
    row("    waits beyond that", j->slow_unused);
    row_seconds("latest word of a loss", j->latest_told);
    row("grants after a loss or a kill", j->successions);
    row("  of them later than the aim", j->slow_successions);
    row_seconds("  the latest after the deadline", j->worst_succession);
    for (int v = 0; v < VERDICTS; v++) {
        guint count = count_violations(j, v);

        printf("%s: %s\n", count > 0 ? "FAILED" : "ok", promises[v]);
        *(count > 0 ? failed : passed) += 1;
    }
    if (j->grants < (guint)c->grants) {
        printf("FAILED: %u grants, %d were wanted\n", j->grants, c->grants);
        ++*failed;
    }
    if (j->turns == 0) {
        printf("FAILED: nothing was retained\n");
        ++*failed;
    }
    fflush(stdout);
}
