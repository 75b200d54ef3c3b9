/* A history, spoilt at will, and what the judge says of it. */
#include "judge_trial.h"

struct trial trial = {.idle_ns = MS(1500), .service_ns = MS(3500)};

void trial_begin(const event *given, guint count)
{
    if (trial.events)
        g_array_free(trial.events, TRUE);
    trial.events = g_array_new(FALSE, TRUE, sizeof(event));
    if (count > 0)
        g_array_append_vals(trial.events, given, count);
}

/* The event of this kind, process and token. */
static guint find(event_kind kind, int pid, uint64_t token)
{
    for (guint i = 0; i < trial.events->len; i++) {
        const event *e = &g_array_index(trial.events, event, i);

        if (e->kind == kind && e->pid == pid && e->token == token)
            return i;
    }
    runner_fail_fatal(__FILE__, __LINE__, "no such event");
}

event *trial_pick(event_kind kind, int pid, uint64_t token)
{
    return &g_array_index(trial.events, event, find(kind, pid, token));
}

void trial_drop(event_kind kind, int pid, uint64_t token)
{
    g_array_remove_index(trial.events, find(kind, pid, token));
}

void trial_insert(event e)
{
    g_array_append_val(trial.events, e);
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    const event *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

judgement *trial_hear(int nodes_left)
{
    judge_input in = {.events = trial.events,
                      .paths = 2,
                      .nodes_left = nodes_left,
                      .garbled = trial.garbled,
                      .service_ns = trial.service_ns,
                      .idle_ns = trial.idle_ns};

    g_array_sort(trial.events, by_time);
    return judge(&in);
}

void trial_expect_left(int number, int nodes_left)
{
    judgement *j = trial_hear(nodes_left);

    CHECK(judgement_passes(j) == (number < 0));
    for (guint i = 0; i < j->violations->len; i++) {
        const violation *v = &g_array_index(j->violations, violation, i);

        if (v->number != number)
            runner_fail(__FILE__, __LINE__, "V%d: %s", v->number, v->text);
    }
    judgement_free(j);
}

void trial_expect(int number)
{
    trial_expect_left(number, 0);
}
