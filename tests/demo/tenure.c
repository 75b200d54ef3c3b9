#include "tenure.h"

/* What is still open for one worker while the events pass by. */
typedef struct {
    int64_t want; /* 0: not waiting */
    int index;    /* into the list, -1: holds nothing */
} open_state;

static open_state *open_of(GArray *open, int worker)
{
    while (open->len <= (guint)worker) {
        open_state none = {0, -1};

        g_array_append_val(open, none);
    }
    return &g_array_index(open, open_state, worker);
}

static void end_wait(tenures *t, open_state *o, int worker, int64_t ns)
{
    wait_span w = {worker, o->want, ns};

    if (o->want)
        g_array_append_val(t->waits, w);
    o->want = 0;
}

static void begin(tenures *t, open_state *o, const event *e)
{
    tenure n = {.worker = e->worker,
                .pid = e->pid,
                .token = e->token,
                .want = o->want,
                .start = e->ns,
                .end = INT64_MAX};

    end_wait(t, o, e->worker, e->ns);
    o->index = (int)t->list->len; /* one still open stays without an end: the verdict says so */
    g_array_append_val(t->list, n);
}

static void end(open_state *o, tenure *n, const event *e, tenure_end how)
{
    if (!n)
        return;
    n->end = e->ns;
    n->how = how;
    o->index = -1;
}

static void first(int64_t *field, int64_t ns)
{
    if (*field == 0)
        *field = ns;
}

/* Callbacks name their grant by its token: they may come when the tenure has ended already. */
static tenure *by_token(tenures *t, const event *e)
{
    for (guint i = t->list->len; i > 0; i--) {
        tenure *n = &g_array_index(t->list, tenure, i - 1);

        if (n->worker == e->worker && n->token == e->token)
            return n;
    }
    return NULL;
}

static void take_callback(tenures *t, const event *e)
{
    tenure *n = by_token(t, e);

    if (n && e->kind == EV_SUSPECT)
        first(&n->suspect, e->ns);
    else if (n)
        first(&n->told, e->ns);
}

static void take(tenures *t, GArray *open, const event *e)
{
    open_state *o = open_of(open, e->worker);
    tenure *n = o->index < 0 ? NULL : &g_array_index(t->list, tenure, o->index);

    switch (e->kind) {
    case EV_WANT:
        o->want = e->ns;
        break;
    case EV_GRANT:
        begin(t, o, e);
        break;
    case EV_HOLD:
        if (n)
            n->asked = true;
        break;
    case EV_WRITE:
        if (n)
            n->writes++;
        else
            t->strays++;
        break;
    case EV_SUSPECT:
    case EV_TOLD:
        take_callback(t, e);
        break;
    case EV_RELEASE:
        end(o, n, e, END_RELEASE);
        break;
    case EV_LOST:
        end(o, n, e, END_LOST);
        break;
    case EV_DEAD:
        end_wait(t, o, e->worker, e->ns);
        end(o, n, e, END_DEAD);
        break;
    case EV_ERROR:
        end_wait(t, o, e->worker, e->ns);
        break;
    default:
        break;
    }
}

tenures *tenures_new(const GArray *events)
{
    tenures *t = g_new0(tenures, 1);
    GArray *open = g_array_new(FALSE, TRUE, sizeof(open_state));

    t->list = g_array_new(FALSE, TRUE, sizeof(tenure));
    t->waits = g_array_new(FALSE, TRUE, sizeof(wait_span));
    for (guint i = 0; i < events->len; i++) {
        const event *e = &g_array_index(events, event, i);

        take(t, open, e);
        if (e->kind == EV_WANT)
            first(&t->t0, e->ns);
        t->t1 = e->ns;
    }
    g_array_free(open, TRUE);
    return t;
}

void tenures_free(tenures *t)
{
    if (!t)
        return;
    g_array_free(t->list, TRUE);
    g_array_free(t->waits, TRUE);
    g_free(t);
}

const tenure *tenures_at(const tenures *t, int worker, int64_t ns)
{
    for (guint i = 0; i < t->list->len; i++) {
        const tenure *n = &g_array_index(t->list, tenure, i);

        if (n->worker == worker && n->start <= ns && ns < n->end)
            return n;
    }
    return NULL;
}

const tenure *tenures_next(const tenures *t, int64_t ns, int not_worker)
{
    for (guint i = 0; i < t->list->len; i++) {
        const tenure *n = &g_array_index(t->list, tenure, i);

        if (n->start >= ns && n->worker != not_worker)
            return n;
    }
    return NULL;
}
