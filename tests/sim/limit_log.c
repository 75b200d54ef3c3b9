#include "limit_log.h"

#include <string.h>

#include "client.h"
#include "recipes/limit.h"
#include "stage.h"

/* From then on until the next. */
struct limit {
    int32_t limit;
    int64_t at;
};

void limit_log_init(struct oracle *o)
{
    const struct limit none = {0, 0};

    for (int i = 0; i < LINES; i++) {
        o->limits[i] = g_array_new(FALSE, FALSE, sizeof(struct limit));
        g_array_append_val(o->limits[i], none);
    }
}

void limit_log_clear(struct oracle *o)
{
    for (int i = 0; i < LINES; i++)
        g_array_unref(o->limits[i]);
}

int32_t limit_log_now(const struct oracle *o, int line)
{
    return g_array_index(o->limits[line], struct limit, o->limits[line]->len - 1).limit;
}

void limit_log_agree(struct stage *stage, int line, int32_t limit)
{
    const struct limit agreed = {limit, stage_now(stage)};

    g_array_append_val(stage->oracle.limits[line], agreed);
}

/* ---- what is noted ---- */

/* In Curator's layout the data say nothing. */
static void learn(struct stage *stage, int line, const char *data, size_t length)
{
    if (!client_leasing)
        limit_log_agree(stage, line, data ? limit_read(data, length) : 0);
}

static void restore(struct stage *stage)
{
    size_t length;

    for (int line = 0; line < PATHS; line++) {
        const char *data = world_data(stage->world, client_paths[line], &length);
        learn(stage, line, data, length);
    }
}

void limit_log_note(struct stage *stage, const struct note *note)
{
    if (note->kind == NOTE_RESTORED) {
        restore(stage);
        return;
    }
    for (int line = 0; line < PATHS; line++) {
        if (strcmp(note->path, client_paths[line]) == 0)
            learn(stage, line, note->kind == NOTE_DELETED ? NULL : note->data, note->length);
    }
}

/* ---- failures ---- */

static bool explains(const struct acquisition *a, int32_t limit)
{
    if (a->code == ZKL_ELIMIT)
        return limit > 0 && limit < a->permits;
    return limit == 0 && !a->names_limit;
}

bool limit_log_explains(const struct stage *stage, const struct acquisition *a)
{
    const GArray *limits = stage->oracle.limits[a->path];

    for (guint i = limits->len; client_counting && i-- > 0;) {
        const struct limit *l = &g_array_index(limits, struct limit, i);
        if (explains(a, l->limit))
            return true;
        if (l->at < a->entered_at)
            break;
    }
    return false;
}
