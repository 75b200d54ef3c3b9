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

/* Of one that began at that very instant nobody knows whether it came before. */
int32_t limit_log_highest(const struct oracle *o, int line, int64_t since)
{
    const GArray *limits = o->limits[line];
    int32_t highest = NO_NUMBER;

    for (guint i = limits->len; i-- > 0;) {
        const struct limit *l = &g_array_index(limits, struct limit, i);
        highest = MAX(highest, l->limit);
        if (l->at < since)
            break;
    }
    return highest;
}

void limit_log_agree(struct stage *stage, int line, int32_t limit)
{
    const struct limit agreed = {limit, stage_now(stage)};

    g_array_append_val(stage->oracle.limits[line], agreed);
}

/* ---- what is noted ---- */

static const char *kept_at(const struct oracle *o, int line)
{
    if (client_leasing)
        return o->follows ? client_counters[line] : NULL;
    return client_paths[line];
}

static int32_t read_number(const char *data, size_t length)
{
    int32_t number;

    return data && limit_read_count(data, length, &number) ? MAX(number, 0) : NO_NUMBER;
}

static void learn(struct stage *stage, int line, const char *data, size_t length)
{
    const int32_t limit = client_leasing ? read_number(data, length)
                          : data         ? limit_read(data, length)
                                         : 0;

    limit_log_agree(stage, line, limit);
}

static void restore(struct stage *stage)
{
    size_t length;

    for (int line = 0; line < PATHS; line++) {
        const char *path = kept_at(&stage->oracle, line);
        const char *data = path ? world_data(stage->world, path, &length) : NULL;
        if (path)
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
        if (g_strcmp0(note->path, kept_at(&stage->oracle, line)) == 0)
            learn(stage, line, note->kind == NOTE_DELETED ? NULL : note->data, note->length);
    }
}

/* ---- failures ---- */

static bool explains(const struct acquisition *a, int32_t limit)
{
    if (a->code == ZKL_ELIMIT)
        return limit > 0 && limit < a->permits;
    return client_leasing ? limit == NO_NUMBER : limit == 0 && !a->names_limit;
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
