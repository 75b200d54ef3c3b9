/* What callers do with a handle that retains. */
#include "lib/base/error.h"
#include "lib/grant/multi.h"
#include "retained_state.h"

guint retained_most = RETAINED_MOST;
uint32_t retained_local_turns = RETAINED_LOCAL_TURNS;

struct turn_waiter *retained_wait(struct retained *r, const struct turn_caller *caller,
                                  grant_decided decided, void *context)
{
    struct turn_waiter *w = g_new0(struct turn_waiter, 1);

    w->retained = r;
    w->caller = *caller;
    g_ref_string_acquire(w->caller.payload);
    w->decided = decided;
    w->context = context;
    w->link.data = w;
    g_queue_push_tail_link(&r->waiting, &w->link);
    retained_step(r, (struct retain_event){.kind = RETAIN_EV_LOCK, .tries = caller->tries});
    return w;
}

static void take(void *context, zkl_grant *turn, const zkl_error *error)
{
    zkl_grant **ret = context;

    (void)error;
    *ret = turn;
}

zkl_grant *retained_take(struct retained *r, uint64_t owner)
{
    struct retain_event ev = {.kind = RETAIN_EV_LOCK};
    const struct turn_caller caller = {.owner = owner};
    const struct retain *m = &r->machine;
    zkl_grant *turn = NULL;

    if (m->state != RETAIN_IDLE || m->waiting > 0 ||
        (m->fence64 && !retained_is_last_owner(r, &caller)))
        return NULL;
    retained_read_clock(r, &ev);
    if (!ev.sure)
        return NULL;
    r->quick = (struct turn_waiter){
        .retained = r, .caller = caller, .decided = take, .context = &turn, .link.data = &r->quick};
    g_queue_push_tail_link(&r->waiting, &r->quick.link);
    retained_step(r, ev);
    if (turn)
        grant_began(turn, 0, ev.now);
    return turn;
}

void retained_give_up(struct turn_waiter *w, int code, const char *text)
{
    struct retained *r = w->retained;
    const char *path = session_path(r->session, r->spec.directory);
    struct retain_event ev = {.kind = RETAIN_EV_GAVE_UP, .first = !w->link.prev};
    zkl_error why;

    error_fill(&why, code, path, "%s: %s", path, text);
    r->refs++;
    retained_decide(w, NULL, &why);
    retained_step(r, ev);
    retained_unref(r);
}

/* Of all idle spans of the session the oldest go first. */
static void shed(struct locks *all)
{
    GQueue *idle = &all->idle;

    while (idle->length > retained_most)
        retained_yield(g_queue_peek_head(idle));
}

/* The turn is over. Where a transaction of it is not decided yet, or never will be, that may be
 * applied as long as the node stands. */
static void retained_on_given_back(void *context, zkl_grant *turn, const struct grant_end *end)
{
    struct retained *r = context;
    struct locks *all = r->all;
    const bool in_doubt = multi_line_is_in_doubt(r->span->line);

    grant_forget(turn);
    r->over = !end->owned || end->before;
    if (!r->over)
        r->spare = grant_take_off(r->span);
    retained_step(r, (struct retain_event){.kind = RETAIN_EV_UNLOCK,
                                           .now = end->sure ? end->now : 0,
                                           .sure = end->sure,
                                           .must_end = end->last || in_doubt || r->over});
    shed(all);
}

const struct grant_ops retained_turns = {.given_back = retained_on_given_back};

void retained_yield(struct retained *r)
{
    retained_step(r, (struct retain_event){.kind = RETAIN_EV_YIELD});
}

void retained_close(struct retained *r)
{
    retained_step(r, (struct retain_event){.kind = RETAIN_EV_CLOSE});
}

static void end_calls(void *retained, const zkl_error *why)
{
    struct retained *r = retained;

    r->refs++;
    while (!g_queue_is_empty(&r->waiting))
        retained_give_up(g_queue_peek_head(&r->waiting), why->code, why->text);
    retained_unref(r);
}

struct retained *retained_new(zkl_session *s, const struct contender_spec *spec,
                              const struct retain *config)
{
    struct retained *r = g_new0(struct retained, 1);

    r->refs = 1;
    r->machine = *config;
    retain_init(&r->machine);
    r->session = s;
    r->spec = *spec;
    r->spec.directory = g_ref_string_acquire(spec->directory);
    r->spec.payload = NULL; /* of each contender its own */
    r->spec.retains = true;
    r->pending = g_array_new(FALSE, FALSE, sizeof(struct retain_event));
    r->idle_link.data = r;
    r->all = locks_of(s);
    local_callers_add(&r->all->local_callers, &r->callers, end_calls, r);
    return r;
}
