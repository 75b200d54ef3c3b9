#include "library.h"

#include <string.h>

#include "lib/contender/contender.h"
#include "lib/grant/grant.h"
#include "lib/session/incarnation.h"
#include "lib/session/participant.h"
#include "lib/session/proof_chain.h"

enum { TIMEOUT_MS = 10000, BEYOND_MS = 2 * TIMEOUT_MS };

static struct actor actors[MODEL_CONTENDERS], *acting;
static char *paths[MODEL_NODES];
static GPtrArray *closed; /* of struct store: sessions wait to be told */
static GString *missing;

const struct actor *library_actor(int i)
{
    return &actors[i];
}

const char *library_path(uint8_t node)
{
    return node < MODEL_NODES ? paths[node] : "none";
}

int64_t library_session_id(int client, int session)
{
    return (client + 1) * 1000 + session;
}

char *library_new_node(const struct actor *a)
{
    struct driver *d = &a->contender->driver;

    return d->ops->path(d, ATTEMPT_NEW);
}

static void need(bool done, const char *what)
{
    if (!done)
        g_string_append_printf(missing, "%s\n", what);
}

/* ---- what the library runs on ---- */

static int open_store(struct store **ret, const struct store_config *config,
                      const struct store_sink *sink)
{
    (void)config;
    *ret = acting->store = g_new0(struct store, 1);
    acting->store->sink = *sink;
    acting->store->under_way = g_ptr_array_new();
    return 0;
}

static bool submit(struct store *store, const struct store_request *what, store_done done,
                   void *request)
{
    (void)what;
    store->done = done;
    g_ptr_array_add(store->under_way, request);
    return true;
}

static void close_store(struct store *store)
{
    library_answer_all(store, STORE_GONE);
    g_ptr_array_add(closed, store);
}

static const struct store_ops ops = {.open = open_store, .submit = submit, .close = close_store};

static void tell_closed(void)
{
    for (guint k = 0; k < closed->len; k++) {
        struct store *store = closed->pdata[k];
        store->sink.closed(store->sink.context);
        g_ptr_array_unref(store->under_way);
        g_free(store);
    }
    g_ptr_array_set_size(closed, 0);
}

static struct instant read_clock(void)
{
    return acting->now;
}

/* Draws an id that shows whose it is, and that no other has. */
static void draw(void *bytes, size_t size)
{
    static uint16_t count;
    const uint16_t words[8] = {(uint16_t)(acting - actors), ++count};

    memcpy(bytes, words, size);
}

static struct timer *armed; /* the first one since that was NULL */

void __real_timers_arm(struct timers *timers, struct timer *timer, int64_t due, void (*fn)(void *),
                       void *data);
void __wrap_timers_arm(struct timers *timers, struct timer *timer, int64_t due, void (*fn)(void *),
                       void *data);

void __wrap_timers_arm(struct timers *timers, struct timer *timer, int64_t due, void (*fn)(void *),
                       void *data)
{
    if (!armed)
        armed = timer;
    __real_timers_arm(timers, timer, due, fn, data);
}

static bool fire(struct timer *timer)
{
    if (!timer || !timer->at)
        return false;
    timers_cancel(timer);
    timer->fn(timer->data);
    return true;
}

/* ---- moves ---- */

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    (void)state;
    (void)data;
}

/* There are callbacks for a loss to wait for. */
static void on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct actor *a = context;

    (void)error;
    a->decisions++;
    a->grant = tenure ? grant_new_on(tenure) : NULL;
    if (tenure)
        grant_watch(a->grant, on_change, NULL);
}

static void enter(struct actor *a, int i)
{
    struct contender_spec spec = {.directory = g_ref_string_new(LIBRARY_DIRECTORY),
                                  .payload = g_ref_string_new("payload"),
                                  .parents = ZKL_PARENTS_CONTAINER,
                                  .rule = model_config.rules[i],
                                  .try_only = model_config.try_only[i],
                                  .retains = model_config.retains[i],
                                  .hints = model_config.long_queue > 0};

    contender_entering_max = 1;
    if (a->contender) {
        admissions_open(contenders_of(a->session));
    } else {
        contender_enter(&a->contender, a->session, &spec, on_decided, a);
        driver_ref(&a->contender->driver);
    }
    contender_entering_max = 0; /* it is the turn of others of its session, until MOVE_ENTER */
    g_ref_string_release(spec.directory);
    g_ref_string_release(spec.payload);
}

static void tell(struct actor *a, enum store_event event, int64_t id)
{
    a->store->sink.event(a->store->sink.context, event, id, TIMEOUT_MS);
}

static void connect(struct actor *a, int64_t id)
{
    tell(a, STORE_EV_BEGIN, 0);
    tell(a, STORE_EV_UP, id);
}

static void lose_connection(struct actor *a)
{
    tell(a, STORE_EV_DOWN, 0);
    library_answer_all(a->store, STORE_UNKNOWN);
}

/* A delete that is refused is tried again later; in the model at once. */
static void library_take(struct actor *a, const struct state *st, const struct reply *reply)
{
    armed = NULL;
    if (reply->fired)
        a->store->sink.watch(a->store->sink.context, paths[reply->to.node],
                             reply->gone ? STORE_FIRED_GONE : STORE_FIRED_CHANGED);
    else
        need(library_answer(a, st, reply), "what is answered was not sent");
    if (!reply->fired && model_asks(&reply->to, STORE_DELETE, ATTEMPT_OWN))
        fire(armed);
}

/* What the model's clients do not hear of is answered when it is done. */
static void library_handled(struct actor *a, const struct state *st, const struct ask *ask,
                            bool refused)
{
    const struct reply reply = {
        .to = *ask, .rc = refused ? STORE_NOAUTH : STORE_OK, .hint.node = MODEL_NONE};
    const bool deletes = ask->verb == STORE_DELETE;

    if (!ask->heard && ask->verb != STORE_UNWATCH && !(deletes && refused))
        need(library_answer(a, st, &reply), "what is done was not sent");
}

/* Where a server stands alone a write is a proof. */
static void prove(struct actor *a)
{
    a->session->proofs.alone = true;
    proof_chain_answered(a->session, PROOF_WRITE, a->now);
    a->session->proofs.alone = false;
}

/* In the model even when it need not go any more: the node was deleted in the end. */
static void purge(struct actor *a)
{
    int64_t id = a->session->id;

    need(fire(&a->session->end_timer), "its session is not to go");
    if (a->session->id == id)
        incarnation_replace(a->session, LOSS_REPLACED);
}

/* Does the part of zkl_session_close() that does not wait. */
static void close_session(struct actor *a)
{
    a->session->closing = true;
    participants_tell(a->session, NEWS_CLOSED);
    incarnation_close(a->session);
    a->store = NULL;
}

static void do_move(struct actor *a, const struct state *before, struct move move,
                    const struct state *after)
{
    const struct client *c = &before->clients[move.at];

    switch (move.kind) {
    case MOVE_ENTER:
        enter(a, move.at);
        break;
    case MOVE_HANDLE:
    case MOVE_REFUSE:
        library_handled(a, before, &c->asks[0], move.kind == MOVE_REFUSE);
        break;
    case MOVE_TAKE:
        library_take(a, before, &c->replies[0]);
        break;
    case MOVE_CONNECT:
        connect(a, library_session_id(move.at, after->clients[move.at].session));
        break;
    case MOVE_NOTICE:
        tell(a, STORE_EV_EXPIRED, 0);
        break;
    case MOVE_PURGE:
        purge(a);
        break;
    case MOVE_REPLACE:
        incarnation_replace(a->session, LOSS_REPLACED);
        break;
    case MOVE_PROOF:
        prove(a);
        break;
    case MOVE_TIMER:
    case MOVE_UNPROVED:
        need(fire(a->contender->driver.timer), "its timer is not armed");
        break;
    case MOVE_TELL_DEADLINE:
        need(fire(&a->session->deadline_timer), "the deadline's timer is not armed");
        break;
    case MOVE_RELEASE:
        need(grant_give_back(a->grant, false), "the grant is not owned");
        break;
    case MOVE_LOSE:
    case MOVE_LOSE_DONE:
        lose_connection(a);
        break;
    case MOVE_DEADLINE:
        a->now = instant_add(a->now, BEYOND_MS * CLOCK_MS);
        break;
    case MOVE_ABORT:
        contender_abort(a->contender, ZKL_ECANCELED, "given up");
        break;
    case MOVE_CLOSE:
        close_session(a);
        break;
    default: /* the server's, or the callbacks' */
        break;
    }
}

/* They may hang: then a timer ends what waits for them. */
static void run_callbacks(struct actor *a, bool hang)
{
    if (hang && a->contender->machine.state == ST_LOST) {
        session_lock(a->session);
        need(fire(a->contender->driver.timer), "nothing ends callbacks that hang");
        session_unlock(a->session);
    } else {
        zkl_session_dispatch(a->session);
    }
}

/* What the server calls the nodes that it has just made. */
static void name_nodes(const struct state *before, const struct state *after)
{
    for (int n = 0; n < MODEL_NODES; n++) {
        const struct node *node = &after->nodes[n];
        const struct actor *a = &actors[node->client];
        if (!node->used || node->czxid <= before->czxid)
            continue;
        char *name = a->session ? library_new_node(a)
                                : g_strdup_printf(LIBRARY_DIRECTORY "/x-%d-", node->client);
        g_free(paths[n]);
        paths[n] = g_strdup_printf("%s%010d", name, node->number);
        g_free(name);
    }
}

const char *library_do(const struct state *before, struct move move, const struct state *after)
{
    struct actor *a = acting = &actors[move.at];

    g_string_truncate(missing, 0);
    name_nodes(before, after);
    if (a->session && move.kind == MOVE_CALLBACKS) {
        run_callbacks(a, before->czxid % 2);
    } else if (a->session) {
        session_lock(a->session);
        do_move(a, before, move, after);
        session_unlock(a->session);
    }
    tell_closed();
    return missing->str;
}

/* ---- sessions ---- */

static void on_log(const zkl_log_record *record, void *data)
{
    (void)record;
    (void)data;
}

static void open_actor(int i)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    struct actor *a = acting = &actors[i];

    a->now = (struct instant){1000000 * CLOCK_MS, 5000000 * CLOCK_MS};
    options.dispatch = 1;
    options.log = on_log;
    if (zkl_session_open(&a->session, "replay:1", &options, NULL) != 0)
        g_error("no session can be opened");
    session_ref(a->session);
    session_lock(a->session);
    connect(a, library_session_id(i, 1));
    /* The model has only servers that know all operations, and no answers to wait for in doubt. */
    create_op_answered(&a->session->forms, CREATE_STAT);
    create_op_answered(&a->session->forms, CREATE_CONTAINER);
    session_unlock(a->session);
}

/* Those of Apache's own are not ours, but played by the model alone. */
static bool is_ours(int i)
{
    return model_config.rules[i] != RULE_APACHE;
}

void library_open(void)
{
    session_store = &ops;
    clock_now = read_clock;
    timers_by_hand = true;
    layout_random = draw;
    contender_long_queue = model_config.long_queue;
    missing = g_string_new(NULL);
    closed = g_ptr_array_new();
    for (int i = 0; i < model_config.contenders; i++)
        if (is_ours(i))
            open_actor(i);
}

static void close_actor(struct actor *a)
{
    acting = a;
    session_lock(a->session);
    close_session(a);
    session_unlock(a->session);
    tell_closed();
    zkl_session_close(a->session);
    if (a->grant)
        grant_unref(a->grant);
    if (a->contender)
        driver_unref(&a->contender->driver);
    session_unref(a->session);
    *a = (struct actor){.session = NULL};
}

void library_close(void)
{
    for (int i = 0; i < model_config.contenders; i++)
        if (actors[i].session)
            close_actor(&actors[i]);
    for (int n = 0; n < MODEL_NODES; n++)
        g_clear_pointer(&paths[n], g_free);
    g_string_free(missing, TRUE);
    g_ptr_array_unref(closed);
}
