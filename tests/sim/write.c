#include "write.h"

#include <string.h>

#include "client.h"
#include "nodes.h"

const char write_directory[] = "/r";

void write_prepare(struct stage *stage)
{
    if (!world_admin_create(stage->world, write_directory, NULL, false))
        stage_wrong(stage, "%s could not be made", write_directory);
}

void write_free(void *write)
{
    struct write *w = write;

    g_free(w->path);
    g_free(w);
}

bool write_may_answer(const struct stage *stage, int code)
{
    switch (code) {
    case 0:
    case ZKL_ELOST:
    case ZKL_EUNKNOWN:
    case ZKL_ETIMEDOUT:
    case ZKL_EUNREACHABLE:
    case ZKL_ECLOSED:
        return true;
    case ZKL_EACCES:
        return stage->oracle.refusing || stage->oracle.refusing_writes;
    default:
        return false;
    }
}

static void on_written(const zkl_error *err, void *data)
{
    struct write *w = data;
    struct stage *stage = w->acquisition->process->stage;

    if (w->acquisition->abandoned)
        return;
    client_tell(w->acquisition->process, "%s: %s", w->path, err ? err->text : "applied");
    if (w->answered)
        stage_wrong(stage, "%s is answered twice", w->path);
    w->answered = true;
    w->code = err ? err->code : 0;
    if (w->code == 0 && !w->applied)
        stage_wrong(stage, "%s is said to be applied, and is not", w->path);
    else if (w->code != 0 && w->code != ZKL_EUNKNOWN && w->applied)
        stage_wrong(stage, "%s is applied, but the answer is: %s", w->path, err->text);
    else if (!write_may_answer(stage, w->code))
        stage_wrong(stage, "%s is answered: %s", w->path, err->text);
    stage->tally.writes += w->code == 0;
}

void write_start(struct acquisition *a, bool release, int64_t timeout_ms)
{
    struct stage *stage = a->process->stage;
    struct write *w = g_new0(struct write, 1);

    w->acquisition = a;
    w->path = g_strdup_printf("%s/w%u", write_directory, stage->writes->len + 1);
    const zkl_change change = {.kind = ZKL_CHANGE_CREATE, .path = w->path};
    struct host *before = host_enter(a->process->host);
    int code = zkl_grant_multi_async(a->grant, &change, 1, release ? ZKL_MULTI_RELEASE : 0,
                                     timeout_ms, on_written, w);
    host_enter(before);
    if (code != 0) {
        write_free(w);
        return;
    }
    g_ptr_array_add(stage->writes, w);
    a->released = a->released || release;
    if (a->with)
        a->with->released = a->released;
    client_tell(a->process, "a%u writes %s%s", a->number, w->path, release ? ", and releases" : "");
}

static struct write *find(const struct stage *stage, const char *path)
{
    for (guint i = 0; i < stage->writes->len; i++) {
        struct write *w = stage->writes->pdata[i];
        if (strcmp(w->path, path) == 0)
            return w;
    }
    return NULL;
}

static bool has_node(const struct stage *stage, const struct acquisition *a)
{
    const struct contender_node *lock = nodes_find(&stage->oracle, a->node);

    return lock && !lock->gone;
}

void write_note(struct stage *stage, const struct note *note)
{
    struct write *w = note->kind == NOTE_CREATED ? find(stage, note->path) : NULL;

    if (!w)
        return;
    const struct acquisition *a = w->acquisition;
    if (!has_node(stage, a) || (a->with && !has_node(stage, a->with)))
        stage_wrong(stage, "%s is applied, but %s is gone", w->path, a->node);
    else if (w->answered && w->code != ZKL_EUNKNOWN)
        stage_wrong(stage, "%s is applied after its answer", w->path);
    stage->tally.undecided += w->answered;
    w->applied = true;
}

static bool is_awaited(const struct write *w)
{
    return !w->answered && !w->acquisition->abandoned;
}

bool write_all_answered(const struct stage *stage)
{
    for (guint i = 0; i < stage->writes->len; i++) {
        if (is_awaited(stage->writes->pdata[i]))
            return false;
    }
    return true;
}

void write_at_rest(struct stage *stage)
{
    for (guint i = 0; i < stage->writes->len; i++) {
        const struct write *w = stage->writes->pdata[i];
        if (is_awaited(w))
            stage_wrong(stage, "%s is never answered", w->path);
    }
}
