#include "handles.h"

#include "runner.h"

const char *const handles_paths[2] = {"/x/1", "/x/2"};
const zkl_change handles_change = {.kind = ZKL_CHANGE_SET, .version = -1, .path = "/x/data"};

#define MAKE(type, field, made)                                                                    \
    if (!e->field)                                                                                 \
        REQUIRE((made) == 0);

void handles_make(struct handles *e)
{
#define HANDLE MAKE
#include "every_call.inc"
}

void handles_acquire(struct handles *e)
{
#define RIGHT MAKE
#include "every_call.inc"
}

void handles_look(struct handles *e)
{
#define VIEW MAKE
#include "every_call.inc"
}

int handles_lock(struct handles *e)
{
    zkl_op *op = NULL;

    /* It would come first, and nobody dispatches its completion. */
    zkl_op_cancel(e->op);
    g_clear_pointer(&e->op, zkl_op_free);
    int code = zkl_mutex_lock_async(e->held, ZKL_FOREVER, NULL, NULL, &op);

    if (code == 0)
        code = zkl_op_wait(op, &e->grant);
    zkl_op_free(op);
    return code;
}

zkl_member *handles_joining(struct handles *e)
{
    if (e->s && !e->joining)
        REQUIRE(zkl_member_join(&e->joining, e->s, "/x/j", "id", NULL, 0, NULL) == 0);
    return e->joining;
}

#define FREE(type, field, made)                                                                    \
    type##_cleanup(&e->field);                                                                     \
    e->field = NULL;

void handles_free(struct handles *e)
{
    g_clear_pointer(&e->op, zkl_op_free);
#define VIEW FREE
#define RIGHT FREE
#include "every_call.inc"
#define HANDLE FREE
#include "every_call.inc"
    g_clear_pointer(&e->joining, zkl_member_free);
}

void handles_free_out(struct handles *e)
{
    g_clear_pointer(&e->out.source, g_source_unref);
#define FREE_OUT(type, function) g_clear_pointer(&e->out.type, function);
    ZKL_HANDLES(FREE_OUT)
}

/* ---- callbacks ---- */

void (*handles_heard)(void);

/* What they are told does not matter here. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define HEARD(type, name, parameters, result)                                                      \
    type name parameters                                                                           \
    {                                                                                              \
        if (handles_heard)                                                                         \
            handles_heard();                                                                       \
        return result;                                                                             \
    }
#include "every_call.inc"

void handles_hear_shards(zkl_shards *from, zkl_shards_event event, const zkl_shards_news *news,
                         void *data)
{
    if (handles_heard)
        handles_heard();
    zkl_grant_release(news->grant);
}
