/* An observer's query, where children_watch.h has its beginning: recipes/observe.h decides. */
#include "lib/base/clock.h"
#include "lib/queue/queue.h"
#include "observer.h"
#include "recipes/name.h"
#include "recipes/rule.h"

/* What an event comes with. */
struct report {
    const char *first;               /* LISTED */
    const struct store_reply *reply; /* NODE, DATA */
    GBytes *proclaimed;              /* DATA; NULL: nothing */
};

static void step(struct observer *o, struct observing_event ev, const struct report *report);

static void step_kind(struct observer *o, enum observing_event_kind kind, bool gone)
{
    step(o, (struct observing_event){.kind = kind, .gone = gone}, NULL);
}

/* ---- answers ---- */

static enum observing_answer to_answer(enum store_rc rc)
{
    if (rc == STORE_OK)
        return OBSERVING_READ;
    return rc == STORE_NONODE ? OBSERVING_NO_NODE : OBSERVING_REFUSED;
}

static void on_node_read(struct request *r, const struct store_reply *reply)
{
    struct observer *o = r->context;
    const struct report report = {.reply = reply};

    watch_answered(o->watch.session, r, reply, &o->node_subscription);
    step(o,
         (struct observing_event){.kind = OBSERVING_EV_NODE,
                                  .tag = r->tag,
                                  .answer = to_answer(reply->rc),
                                  .token = reply->czxid},
         &report);
    children_watch_unref(&o->watch);
}

static void on_data_read(struct request *r, const struct store_reply *reply)
{
    struct observer *o = r->context;
    const char *data = reply->data ? reply->data : "";
    size_t length = (size_t)MAX(reply->length, 0), at;
    struct report report = {.reply = reply};
    struct observing_event ev = {.kind = OBSERVING_EV_DATA,
                                 .tag = r->tag,
                                 .answer = to_answer(reply->rc),
                                 .zxid = reply->mzxid};

    watch_answered(o->watch.session, r, reply, &o->data_subscription);
    if (reply->rc == STORE_OK && observe_data(data, length, &ev.token, &at))
        report.proclaimed = g_bytes_new(data + at, length - at);
    step(o, ev, &report);
    g_clear_pointer(&report.proclaimed, g_bytes_unref);
    children_watch_unref(&o->watch);
}

static bool is_used_up(const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    return rule_exhausted(child.number);
}

static void on_listed(struct children_watch *cw, const struct store_reply *reply, bool watched)
{
    struct observer *o = (struct observer *)cw;
    const struct report report = {.first = queue_first(reply->names, reply->count, o->rule)};

    step(o,
         (struct observing_event){.kind = OBSERVING_EV_LISTED,
                                  .some = report.first != NULL,
                                  .used_up = report.first && is_used_up(report.first),
                                  .zxid = reply->pzxid,
                                  .watched = watched},
         &report);
}

/* ---- other events ---- */

static void on_missing(struct children_watch *cw)
{
    step_kind((struct observer *)cw, OBSERVING_EV_MISSING, true);
}

static void on_node_fired(void *context, bool gone)
{
    step_kind(context, OBSERVING_EV_NODE_FIRED, gone);
}

static void on_data_fired(void *context, bool gone)
{
    step_kind(context, OBSERVING_EV_DATA_FIRED, gone);
}

static void on_begin(struct children_watch *cw)
{
    step_kind((struct observer *)cw, OBSERVING_EV_BEGIN, false);
}

static void on_up(struct children_watch *cw)
{
    step_kind((struct observer *)cw, OBSERVING_EV_UP, false);
}

static void on_stop(struct children_watch *cw)
{
    step_kind((struct observer *)cw, OBSERVING_EV_STOP, false);
}

/* ---- actions ---- */

static void take_first(struct observer *o, const char *first)
{
    watch_drop(&o->watch.children, false);
    g_free(o->node);
    o->node = g_strdup(first);
}

static void take_node(struct observer *o, const struct store_reply *reply)
{
    g_free(o->id);
    o->id = g_utf8_make_valid(reply->data ? reply->data : "", queue_payload_length(o->node, reply));
}

static void take_data(struct observer *o, GBytes *proclaimed)
{
    g_clear_pointer(&o->proclaimed, g_bytes_unref);
    o->proclaimed = proclaimed ? g_bytes_ref(proclaimed) : NULL;
}

static void perform(struct observer *o, const struct observing_action *a,
                    const struct report *report)
{
    struct children_watch *cw = &o->watch;

    switch (a->kind) {
    case OBSERVING_ACT_READ_NODE:
        children_watch_ask(cw, STORE_GET, g_strconcat(cw->directory, "/", o->node, NULL),
                           on_node_read, &o->node_subscription, children_watch_number(cw));
        break;
    case OBSERVING_ACT_READ_DATA:
        children_watch_ask(cw, STORE_GET, g_strdup(cw->directory), on_data_read,
                           &o->data_subscription, a->tag);
        break;
    case OBSERVING_ACT_TAKE_FIRST:
        take_first(o, report->first);
        break;
    case OBSERVING_ACT_TAKE_NODE:
        take_node(o, report->reply);
        break;
    case OBSERVING_ACT_TAKE_DATA:
        take_data(o, report->proclaimed);
        break;
    case OBSERVING_ACT_AGAIN:
        children_watch_again(cw, a->watch);
        break;
    case OBSERVING_ACT_REREAD:
        children_watch_reread(cw);
        break;
    case OBSERVING_ACT_FIRED:
        children_watch_fired(cw);
        break;
    case OBSERVING_ACT_REFUSED:
        children_watch_refused(cw, report->reply->rc);
        break;
    case OBSERVING_ACT_OLDER:
        children_watch_older(cw);
        break;
    case OBSERVING_ACT_FOUND:
        children_watch_found(cw, 0);
        break;
    case OBSERVING_ACT_TELL:
        observer_tell(o, a->tell == OBSERVE_LEADER ? o->machine.token : 0,
                      a->data ? o->proclaimed : NULL);
        break;
    case OBSERVING_ACT_DROP_NODE:
        watch_drop(&o->node_subscription, false);
        break;
    case OBSERVING_ACT_DROP_DATA:
        watch_drop(&o->data_subscription, false);
        break;
    }
}

static bool same_bytes(GBytes *a, GBytes *b)
{
    return a && b ? g_bytes_equal(a, b) : a == b;
}

static void step(struct observer *o, struct observing_event ev, const struct report *report)
{
    struct observing_actions actions;

    ev.query = children_watch_number(&o->watch);
    ev.data_watched = o->data_subscription.watch != NULL;
    ev.told_any = o->told_data != NULL;
    ev.other_node = g_strcmp0(o->node, o->told_node) != 0;
    ev.now = clock_now().boot;
    ev.patience = session_patience_ms(o->watch.session) * CLOCK_MS;
    ev.same =
        same_bytes(ev.kind == OBSERVING_EV_DATA ? report->proclaimed : o->proclaimed, o->told_data);
    observing_step(&o->machine, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(o, &actions.list[i], report);
}

void observer_listen(struct observer *o)
{
    o->node_subscription = (struct subscription){.fired = on_node_fired, .context = o};
    o->data_subscription = (struct subscription){.fired = on_data_fired, .context = o};
}

const struct children_watch_kind observer_kind = {.doing = "looking for the leader",
                                                  .up = on_up,
                                                  .begin = on_begin,
                                                  .listed = on_listed,
                                                  .missing = on_missing,
                                                  .stop = on_stop,
                                                  .free = observer_free};
