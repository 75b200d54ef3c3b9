#include "campaign.h"

#include <stdio.h>

static const char *const loss_names[] = {
    [ZKL_LOSS_DEADLINE] = "lost to the deadline",
    [ZKL_LOSS_EXPIRED] = "expired",
    [ZKL_LOSS_DELETED] = "deleted",
    [ZKL_LOSS_CLOSED] = "closed",
    [ZKL_LOSS_REPLACED] = "replaced",
    [ZKL_LOSS_REFUSED] = "refused",
};

enum { SHARED_OF = 50 }; /* grants of readers, of which some must have been at once */

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

/* What each kind of claim came to. */
static void print_kinds(const struct campaign *c)
{
    const judgement *j = c->judgement;

    for (int k = 0; k < CLAIM_KINDS; k++)
        if (roles_claims(c->roles) >> k & 1)
            printf("  %-34s %8u grants, longest wait %.2f s\n", claim_kind_name((claim_kind)k),
                   j->of[k].grants, (double)j->of[k].longest_wait / 1e9);
    if (j->readers > 0)
        row("readers at once", j->readers);
    if (j->permits > 0)
        row("permits at once", j->permits);
}

/* The sums that the sessions counted, and those of the record. */
static void print_counts(const judgement *j)
{
    printf("  counted by %u sessions, of recorded: grants %lld/%lld", j->sessions,
           (long long)j->counted[COUNTED_GRANTS], (long long)j->recorded[COUNTED_GRANTS]);
    for (int loss = ZKL_LOSS_DEADLINE; loss <= ZKL_LOSS_REFUSED; loss++)
        printf(", %s %lld/%lld", loss_names[loss], (long long)j->counted[loss],
               (long long)j->recorded[loss]);
    printf("\n");
}

/* That the rules had something to be broken by. */
static void demand(const struct campaign *c, int *failed)
{
    const judgement *j = c->judgement;
    const unsigned claims = roles_claims(c->roles);

    for (int k = 0; k < CLAIM_KINDS; k++) {
        if (!(claims >> k & 1) || j->of[k].grants >= (guint)MAX(1, c->grants))
            continue;
        printf("FAILED: %s: %u grants, %d were wanted\n", claim_kind_name((claim_kind)k),
               j->of[k].grants, MAX(1, c->grants));
        ++*failed;
    }
    if (roles_retain(c->roles) && j->turns == 0) {
        printf("FAILED: nothing was retained\n");
        ++*failed;
    }
    if (j->sessions != (guint)c->roles->count) {
        printf("FAILED: %u sessions said what they counted, %d workers ended\n", j->sessions,
               c->roles->count);
        ++*failed;
    }
    if (j->of[CLAIM_READ].grants >= SHARED_OF && j->readers < 2) {
        printf("FAILED: no two readers were there at once\n");
        ++*failed;
    }
}

void campaign_print(const struct campaign *c, int *passed, int *failed)
{
    const judgement *j = c->judgement;

    printf("  ---- %s, seed %d, %d server%s, %d s ----\n", c->roles->recipe, c->seed, c->nodes,
           c->nodes > 1 ? "s" : "", c->took_s);
    print_faults(c);
    row("grants", j->grants);
    print_kinds(c);
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
    print_counts(j);
    for (int v = 0; v < VERDICTS; v++) {
        guint count = judgement_count(j, v);

        printf("%s: %s\n", count > 0 ? "FAILED" : "ok", judge_promise(v));
        *(count > 0 ? failed : passed) += 1;
    }
    demand(c, failed);
    fflush(stdout);
}
