#include "fair.h"

#include <stdio.h>

#include "scratch.h"

enum { BLOCK = 1 << 14 };

/* The file has, for each state, how many fair moves there are, and where they lead. */
struct fair {
    FILE *file;
    GArray *leads;  /* of guint32: of the state that is being told of, with room for their number */
    GArray *starts; /* of guint64: where in the file each BLOCK of states begins, in words */
    guint64 end;
    guint32 count;
    guint8 *ends; /* a bit for each state: all that is fair comes to an end behind it */
    /* the block that was read last */
    guint32 first, length;
    guint32 *words, at[BLOCK];
};

struct fair *fair_new(void)
{
    const guint32 none = 0;
    struct fair *f = g_new0(struct fair, 1);

    f->file = scratch_open();
    f->leads = g_array_new(FALSE, FALSE, sizeof(guint32));
    f->starts = g_array_new(FALSE, FALSE, sizeof(guint64));
    g_array_append_val(f->leads, none);
    return f;
}

void fair_free(struct fair *f)
{
    fclose(f->file);
    g_array_unref(f->leads);
    g_array_unref(f->starts);
    g_free(f->ends);
    g_free(f->words);
    g_free(f);
}

void fair_add(struct fair *f, guint32 to)
{
    g_array_append_val(f->leads, to);
}

void fair_end(struct fair *f)
{
    if (f->count++ % BLOCK == 0)
        g_array_append_val(f->starts, f->end);
    g_array_index(f->leads, guint32, 0) = f->leads->len - 1;
    scratch_write(f->file, f->leads->data, f->leads->len * sizeof(guint32));
    f->end += f->leads->len;
    g_array_set_size(f->leads, 1);
}

/* ---- what does not come to an end ---- */

static void read_block(struct fair *f, guint block)
{
    const guint64 start = g_array_index(f->starts, guint64, block);
    const guint64 end =
        block + 1 < f->starts->len ? g_array_index(f->starts, guint64, block + 1) : f->end;
    guint32 at = 0;

    f->words = g_renew(guint32, f->words, end - start);
    scratch_seek(f->file, start * sizeof(guint32));
    scratch_read(f->file, f->words, (gsize)(end - start) * sizeof(guint32));
    f->first = block * BLOCK;
    f->length = MIN(BLOCK, f->count - f->first);
    for (guint32 k = 0; k < f->length; k++) {
        f->at[k] = at;
        at += 1 + f->words[at];
    }
}

static gboolean has_end(const struct fair *f, guint32 state)
{
    return f->ends[state / 8] >> state % 8 & 1;
}

/* The first it leads to of which it is not known that all comes to an end there. */
static const guint32 *endless_lead(const struct fair *f, guint32 state)
{
    const guint32 *leads = &f->words[f->at[state - f->first]];

    for (guint32 k = 1; k <= leads[0]; k++)
        if (!has_end(f, leads[k]))
            return &leads[k];
    return NULL;
}

static guint32 pass_block(struct fair *f, guint block)
{
    guint32 found = 0;

    read_block(f, block);
    for (guint32 state = f->first + f->length; state-- > f->first;) {
        if (has_end(f, state) || endless_lead(f, state))
            continue;
        f->ends[state / 8] |= (guint8)(1U << state % 8);
        found++;
    }
    return found;
}

/* Passes from the last state to the first, as moves lead to later states for the most part; blocks
 * that are through are left out. Returns how many states are left. */
static guint32 pass_all(struct fair *f)
{
    guint32 *left = g_new(guint32, f->starts->len), all = f->count, before;

    for (guint block = 0; block < f->starts->len; block++)
        left[block] = MIN(BLOCK, f->count - block * BLOCK);
    do {
        before = all;
        for (guint block = f->starts->len; block-- > 0;) {
            guint32 found = left[block] ? pass_block(f, block) : 0;
            left[block] -= found;
            all -= found;
        }
    } while (all > 0 && all < before);
    g_free(left);
    return all;
}

/* From any state that is left one gets to another, and so to one where one has been. */
static struct cycle cut_out(struct fair *f)
{
    GHashTable *been = g_hash_table_new(NULL, NULL); /* state + 1: place on the way + 1 */
    GArray *way = g_array_new(FALSE, FALSE, sizeof(guint32));
    struct cycle cycle;
    guint32 state = 0;
    guint from;

    while (has_end(f, state))
        state++;
    while (!(from = GPOINTER_TO_UINT(g_hash_table_lookup(been, GSIZE_TO_POINTER(state + 1UL))))) {
        g_array_append_val(way, state);
        g_hash_table_insert(been, GSIZE_TO_POINTER(state + 1UL), GUINT_TO_POINTER(way->len));
        read_block(f, state / BLOCK);
        state = *endless_lead(f, state);
    }
    cycle.length = way->len - (from - 1);
    cycle.states = g_new(guint32, cycle.length);
    for (guint k = 0; k < cycle.length; k++)
        cycle.states[k] = g_array_index(way, guint32, from - 1 + k);
    g_hash_table_unref(been);
    g_array_unref(way);
    return cycle;
}

struct cycle fair_find_cycle(struct fair *f)
{
    f->ends = g_new0(guint8, f->count / 8 + 1);
    if (pass_all(f) == 0)
        return (struct cycle){.length = 0};
    return cut_out(f);
}
