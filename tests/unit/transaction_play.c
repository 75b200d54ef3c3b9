#include "transaction_play.h"

#include "exchange.h"

#include <glib.h>

static void put(GString *text, const struct transaction_action *a)
{
    static const char *const verdicts[] = {"applied", "refused", "lost", "late", "unknown"};

    g_string_append(text, text->len ? " " : "");
    if (a->kind == TX_ACT_SEND || a->kind == TX_ACT_SEAL)
        g_string_append_printf(text, "%s %u@%d", a->kind == TX_ACT_SEND ? "send" : "seal",
                               a->number, a->version);
    else if (a->kind == TX_ACT_TELL && a->verdict == TX_TOLD_REFUSED)
        g_string_append_printf(text, "refused %d:%d", a->error, a->failed);
    else if (a->kind == TX_ACT_TELL)
        g_string_append(text, verdicts[a->verdict]);
    else if (a->kind == TX_ACT_END)
        g_string_append(text, a->node_gone ? "gone" : "end");
    else
        g_string_append(text, "read");
}

char *exchange_step(struct transaction *t, const struct transaction_event *ev)
{
    struct transaction_actions actions;
    GString *text = g_string_new(NULL);

    transaction_step(t, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put(text, &actions.list[i]);
    return g_string_free(text, FALSE);
}

static void play(const struct exchange *x)
{
    struct transaction t = {.state = TX_IDLE};

    for (int i = 0; i < EXCHANGE_MAX && x->steps[i].acts; i++) {
        char *acts = exchange_step(&t, &x->steps[i].ev);
        exchange_check(acts, x->steps[i].acts, x->what, i);
    }
}

void exchange_play(const struct exchange *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}
