#include "candidacy_play.h"

#include "exchange.h"

#include <glib.h>

static void put(GString *text, const struct candidacy_action *a)
{
    static const char *const words[] = {
        [CANDIDACY_ACT_ENTER] = "enter",   [CANDIDACY_ACT_ABORT] = "abort",
        [CANDIDACY_ACT_LEAVE] = "leave",   [CANDIDACY_ACT_LEAD] = "lead",
        [CANDIDACY_ACT_RESIGN] = "resign", [CANDIDACY_ACT_FORGET] = "forget",
        [CANDIDACY_ACT_LIST] = "list",     [CANDIDACY_ACT_IGNORE] = "ignore",
        [CANDIDACY_ACT_ARM] = "arm",       [CANDIDACY_ACT_ASK] = "ask",
        [CANDIDACY_ACT_FAIL] = "fail",     [CANDIDACY_ACT_NOTE] = "note",
        [CANDIDACY_ACT_STOP] = "stop",
    };
    static const char *const causes[] = {
        [CANDIDACY_CAUSE_NONE] = "none",     [CANDIDACY_CAUSE_ATTEMPT] = "attempt",
        [CANDIDACY_CAUSE_LOST] = "lost",     [CANDIDACY_CAUSE_REFUSED] = "refused",
        [CANDIDACY_CAUSE_CLOSED] = "closed",
    };

    g_string_append_printf(text, "%s%s", text->len ? " " : "", words[a->kind]);
    if (a->kind == CANDIDACY_ACT_LIST)
        g_string_append_printf(text, " %u", a->tag);
    else if (a->kind == CANDIDACY_ACT_ARM)
        g_string_append_printf(text, " %" G_GINT64_FORMAT, a->at / MS(1));
    else if (a->kind == CANDIDACY_ACT_NOTE || a->kind == CANDIDACY_ACT_STOP)
        g_string_append_printf(text, "%s %s", a->behind ? "-behind" : "", causes[a->cause]);
}

#define OWN_NAME "_c_a-p003-latch-0000000005"

/* With what the driver adds. What has fired, or could not be left, is no watch any more. */
static char *play_step(struct candidacy *c, const struct candidacy_heard *heard)
{
    const char *names[] = {heard->rival ? heard->rival : OWN_NAME, OWN_NAME,
                           "_c_c-latch-0000000007"};
    struct candidacy_event ev = heard->ev;
    struct candidacy_actions actions;
    GString *text = g_string_new(NULL);

    ev.owned = !heard->unowned;
    ev.watched = c->watched && !heard->unwatched && ev.kind != CANDIDACY_EV_FIRED &&
                 ev.kind != CANDIDACY_EV_UNWATCHED;
    ev.names = names;
    ev.count = heard->rival ? 3 : 1;
    ev.own = OWN_NAME;
    candidacy_step(c, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put(text, &actions.list[i]);
    return g_string_free(text, FALSE);
}

void candidacy_play(const struct candidacy_exchange *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct candidacy c = rows[i].machine;
        for (int k = 0; k < CANDIDACY_STEPS_MAX && rows[i].steps[k].acts; k++) {
            char *acts = play_step(&c, &rows[i].steps[k].heard);
            exchange_check(acts, rows[i].steps[k].acts, rows[i].what, k);
        }
    }
}
