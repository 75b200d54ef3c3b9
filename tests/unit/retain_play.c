#include "retain_play.h"

#include "exchange.h"

#include <glib.h>

static void put(GString *text, const struct retain_action *a)
{
    static const char *const words[] = {
        [RETAIN_ACT_TURN] = "turn", [RETAIN_ACT_BUSY] = "busy",       [RETAIN_ACT_ENTER] = "enter",
        [RETAIN_ACT_END] = "end",   [RETAIN_ACT_ABANDON] = "abandon", [RETAIN_ACT_LOOK] = "look",
        [RETAIN_ACT_FAIL] = "fail", [RETAIN_ACT_ARM] = "arm",
    };

    g_string_append_printf(text, "%s%s", text->len ? " " : "", words[a->kind]);
    if (a->kind == RETAIN_ACT_TURN)
        g_string_append_printf(text, " %" G_GUINT64_FORMAT, a->turn);
    else if (a->kind == RETAIN_ACT_BUSY)
        g_string_append(text, a->last ? "-last" : "-first");
    else if (a->kind == RETAIN_ACT_ENTER)
        g_string_append_printf(text, "%s%s", a->tries ? "-tries" : "", a->watch ? "-watch" : "");
    else if (a->kind == RETAIN_ACT_ARM)
        g_string_append_printf(text, " %" G_GINT64_FORMAT, a->at / MS(1));
}

char *retain_play_step(struct retain *r, const struct retain_told *told)
{
    struct retain_event ev = told->ev;
    struct retain_actions actions;
    GString *text = g_string_new(NULL);

    ev.now += told->more;
    ev.sure = !told->doubt;
    retain_step(r, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put(text, &actions.list[i]);
    return g_string_free(text, FALSE);
}

static void play(const struct retain_row *row)
{
    struct retain r = row->machine;

    if (r.retain_ns == 0)
        r.retain_ns = MS(100);
    if (r.local_turns == 0)
        r.local_turns = 2;
    retain_init(&r);
    for (int k = 0; k < RETAIN_STEPS_MAX && row->steps[k].acts; k++) {
        char *acts = retain_play_step(&r, &row->steps[k].told);
        exchange_check(acts, row->steps[k].acts, row->what, k);
    }
}

void retain_play(const struct retain_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}
