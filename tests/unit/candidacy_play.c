#include "candidacy_play.h"

#include "exchange.h"
#include "recipes/machine.h"

#include <glib.h>

/* What the driver has, of one machine. */
struct play {
    struct candidacy c;
    struct exchange exchange;
    struct exchange_request asked[CANDIDACY_STEPS_MAX];
    unsigned count;
    GString *text;
};

static void put_told(GString *text, const struct machine_action *a)
{
    static const char *const words[] = {
        [CANDIDACY_ENTER] = "enter",
        [CANDIDACY_ABORT] = "abort",
        [CANDIDACY_LEAVE] = "leave",
        [CANDIDACY_LEAD] = "lead",
        [CANDIDACY_RESIGN] = "resign",
        [CANDIDACY_FORGET] = "forget",
        [CANDIDACY_ASK] = "ask",
        [CANDIDACY_FAIL] = "fail",
        [CANDIDACY_NOTE] = "note",
        [CANDIDACY_STOP] = "stop",
        [CANDIDACY_STOP_BEHIND] = "stop-behind",
    };
    static const char *const causes[] = {
        [CANDIDACY_CAUSE_NONE] = "none",     [CANDIDACY_CAUSE_ATTEMPT] = "attempt",
        [CANDIDACY_CAUSE_LOST] = "lost",     [CANDIDACY_CAUSE_REFUSED] = "refused",
        [CANDIDACY_CAUSE_CLOSED] = "closed",
    };

    g_string_append(text, words[a->verdict]);
    if (a->verdict >= CANDIDACY_NOTE)
        g_string_append_printf(text, " %s", causes[a->why]);
}

static void put(struct play *p, const struct machine_action *a)
{
    g_string_append(p->text, p->text->len ? " " : "");
    if (a->kind == MACHINE_ACT_TELL) {
        put_told(p->text, a);
    } else if (a->kind == MACHINE_ACT_REQUEST) {
        p->asked[p->count++] = exchange_ask(&p->exchange, a);
        g_string_append_printf(p->text, "list%s %u", a->watch ? "" : "-once", p->count);
    } else if (a->kind == MACHINE_ACT_END) {
        exchange_end(&p->exchange);
        g_string_append(p->text, "end");
    } else {
        CHECK_INT(a->kind, MACHINE_ACT_ARM);
        g_string_append_printf(p->text, "arm %" G_GINT64_FORMAT, a->at / MS(1));
    }
}

#define OWN_NAME "_c_a-p003-latch-0000000005"

/* With what the driver adds. */
static char *play_step(struct play *p, const struct candidacy_heard *heard)
{
    const char *names[] = {heard->rival ? heard->rival : OWN_NAME, OWN_NAME,
                           "_c_c-latch-0000000007"};
    const struct machine_event ev = {.kind = heard->kind, .rc = heard->rc};
    struct candidacy_moment moment = heard->m;
    struct machine_actions actions = {.count = 0};

    p->text = g_string_new(NULL);
    if (heard->to && exchange_is_stale(&p->exchange, p->asked[heard->to - 1]))
        return g_string_free(p->text, FALSE);
    moment.owned = !heard->unowned;
    moment.names = names;
    moment.count = heard->rival ? 3 : 1;
    moment.own = OWN_NAME;
    candidacy_step(&p->c, &ev, &moment, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put(p, &actions.list[i]);
    return g_string_free(p->text, FALSE);
}

void candidacy_play(const struct candidacy_exchange *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct play p = {.c = rows[i].machine};
        for (int k = 0; k < CANDIDACY_STEPS_MAX && rows[i].steps[k].acts; k++) {
            char *acts = play_step(&p, &rows[i].steps[k].heard);
            exchange_check(acts, rows[i].steps[k].acts, rows[i].what, k);
        }
    }
}
