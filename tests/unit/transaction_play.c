#include "transaction_play.h"

#include "exchange.h"

#include <glib.h>

static const char *word_of(const struct transaction *t, const struct machine_action *a)
{
    static const char *const verdicts[] = {
        [TX_TOLD_APPLIED] = "applied", [TX_TOLD_LOST] = "lost", [TX_TOLD_LATE] = "late",
        [TX_TOLD_UNKNOWN] = "unknown", [TX_ENDED] = "end",      [TX_ENDED_GONE] = "gone"};

    if (a->kind == MACHINE_ACT_TELL)
        return verdicts[a->verdict];
    CHECK(a->kind == MACHINE_ACT_REQUEST && a->node == 0);
    if (a->verb == STORE_GET)
        return "read";
    CHECK(a->verb == STORE_MULTI && a->once && a->connection == 1);
    CHECK(a->count == 1 && a->parts[0].verb == STORE_SET);
    CHECK_INT(a->rest, t->state != TX_SEALING);
    return a->rest ? "send" : "seal";
}

static void put(GString *text, const struct transaction *t, const struct machine_action *a)
{
    if (a->kind == MACHINE_ACT_END)
        return;
    g_string_append(text, text->len ? " " : "");
    if (a->kind == MACHINE_ACT_TELL && a->verdict == TX_TOLD_REFUSED)
        g_string_append_printf(text, "refused %d:%d", (int)a->rc, t->failed);
    else
        g_string_append(text, word_of(t, a));
    if (a->kind == MACHINE_ACT_REQUEST && a->verb == STORE_MULTI)
        g_string_append_printf(text, " %u@%d", transaction_written(t), a->parts[0].version);
}

char *exchange_step(struct transaction *t, const struct told *told)
{
    struct machine_actions actions = {.count = 0};
    GString *text = g_string_new(NULL);

    transaction_step(t, &told->ev, &told->now, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put(text, t, &actions.list[i]);
    return g_string_free(text, FALSE);
}

static void play(const struct exchange_row *x)
{
    struct transaction t = {.state = TX_IDLE};

    for (int i = 0; i < EXCHANGE_MAX && x->steps[i].acts; i++) {
        char *acts = exchange_step(&t, &x->steps[i].told);
        exchange_check(acts, x->steps[i].acts, x->what, i);
    }
}

void exchange_play(const struct exchange_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}
