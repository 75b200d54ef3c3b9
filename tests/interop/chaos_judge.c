#include "chaos_judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const words[ACT_WORDS] = {
    [ACT_BEGIN] = "begin", [ACT_READ] = "read", [ACT_GO] = "go",
    [ACT_END] = "end",     [ACT_SKIP] = "skip",
};

const char *act_word_name(act_word word)
{
    return words[word];
}

static bool pair_parse(act *ret, const char *text)
{
    char rest;

    ret->turn = 0;
    return strchr(text, '.')
               ? sscanf(text, "%" SCNu64 ".%" SCNu64 "%c", &ret->token, &ret->turn, &rest) == 2
               : sscanf(text, "%" SCNu64 "%c", &ret->token, &rest) == 1;
}

bool act_parse(act *ret, const char *line)
{
    char word[8], pair[48], rest;
    int n = sscanf(line, "%" SCNd64 " %7s %15s %d %47s %" SCNd64 " %c", &ret->ns, word, ret->kind,
                   &ret->pid, pair, &ret->number, &rest);
    int w = 0;

    while (w < ACT_WORDS && strcmp(words[w], word) != 0)
        w++;
    ret->word = (act_word)w;
    return n == 6 && w < ACT_WORDS && pair_parse(ret, pair) && ret->number >= 0;
}

static bool is_in(const GArray *pids, int pid)
{
    for (guint i = 0; i < pids->len; i++)
        if (g_array_index(pids, int, i) == pid)
            return true;
    return false;
}

/* The next act of the process of act i; NULL: that was its last. */
static const act *next_of(const GArray *acts, guint i)
{
    int pid = g_array_index(acts, act, i).pid;

    while (++i < acts->len)
        if (g_array_index(acts, act, i).pid == pid)
            return &g_array_index(acts, act, i);
    return NULL;
}

bool chaos_refused(const GArray *acts, guint i)
{
    const act *a = &g_array_index(acts, act, i), *next;

    if (a->word != ACT_BEGIN)
        return false;
    next = next_of(acts, i);
    return next && next->word != ACT_END;
}

static const act *get(const struct chaos_input *in, guint i)
{
    return &g_array_index(in->acts, act, i);
}

/* ---- every recorded increment is in the number ---- */

/* How many ends each number has, from 1 to that at the end. */
static guint *count_ends(const struct chaos_input *in, struct chaos_verdict *v)
{
    guint *ends = g_new0(guint, (gsize)in->number + 1);

    for (guint i = 0; i < in->acts->len; i++) {
        const act *a = get(in, i);

        if (a->word != ACT_END)
            continue;
        v->increments++;
        if (a->number < 1 || a->number > in->number || ends[a->number]++ > 0)
            v->lost++;
    }
    return ends;
}

/* Whether a killed process's last word was that it would write this number. The intention is
 * recorded before the write and the end after it, so a kill in between leaves the question open
 * whether it was written. The number answers it: it went on from there, or another wrote the same
 * and that one's end is recorded. */
static bool was_meant(const struct chaos_input *in, int64_t number)
{
    for (guint i = 0; i < in->acts->len; i++) {
        const act *a = get(in, i);

        if ((a->word == ACT_BEGIN || a->word == ACT_GO) && a->number + 1 == number &&
            is_in(in->killed, a->pid) && !next_of(in->acts, i))
            return true;
    }
    return false;
}

static void settle(const struct chaos_input *in, const guint *ends, struct chaos_verdict *v)
{
    for (int64_t number = 1; number <= in->number; number++) {
        if (ends[number] > 0)
            continue;
        if (was_meant(in, number))
            v->kept++;
        else
            v->made_up++;
    }
}

/* ---- tokens never fall ---- */

static int compare(uint64_t token, uint64_t turn, const act *with)
{
    if (token != with->token)
        return token < with->token ? -1 : 1;
    return (turn > with->turn) - (turn < with->turn);
}

/* A number is read after it was written; several may read the same. */
static gint by_order(gconstpointer a, gconstpointer b)
{
    const act *x = *(const act *const *)a, *y = *(const act *const *)b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->word != y->word)
        return x->word == ACT_END ? -1 : 1;
    return compare(x->token, x->turn, y);
}

static void compare_tokens(const struct chaos_input *in, struct chaos_verdict *v)
{
    GPtrArray *accepted = g_ptr_array_new();
    const act none = {.token = 0}, *highest = &none;

    for (guint i = 0; i < in->acts->len; i++)
        if (get(in, i)->word == ACT_BEGIN || get(in, i)->word == ACT_END)
            g_ptr_array_add(accepted, (gpointer)get(in, i));
    g_ptr_array_sort(accepted, by_order);
    for (guint i = 0; i < accepted->len; i++) {
        const act *a = g_ptr_array_index(accepted, i);

        v->turns += a->word == ACT_END && a->turn > 0;
        if (compare(a->token, a->turn, highest) < 0)
            v->stale++;
        else
            highest = a;
    }
    v->stale += compare(in->token, in->turn, highest) < 0;
    g_ptr_array_free(accepted, TRUE);
}

void chaos_judge(const struct chaos_input *in, struct chaos_verdict *ret)
{
    *ret = (struct chaos_verdict){0};
    guint *ends = count_ends(in, ret);

    settle(in, ends, ret);
    compare_tokens(in, ret);
    g_free(ends);
}

bool chaos_passes(const struct chaos_verdict *v)
{
    return v->lost == 0 && v->stale == 0 && v->made_up == 0;
}
