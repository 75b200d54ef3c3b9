/* zkl elect: an election is the way to the grant. With --once it is one campaign; otherwise a
 * started election, which tells when to step down too. */
#include "candidate.h"
#include "contenders.h"
#include "guard/channel.h"
#include "run.h"

#include <time.h>

struct candidate {
    struct elect_options *options;
    struct shared *shared;
    struct run run;
    struct attempt *attempt;
    zkl_election *election;
    zkl_op *op; /* --once */
    char *node; /* the name of ours in that session; NULL: was not seen yet */
    int64_t node_session;
};

/* How many candidates are looked at, once for each session, to find our own. */
#define CANDIDATES_READ 100
#define READ_MS 500

/* The supervisor looks at what is shared. From any thread. */
static void tell_supervisor(void *self)
{
    const struct candidate *c = self;

    channel_nudge(c->run.events->orders);
}

static int candidate_open(void *self, zkl_session *session)
{
    struct candidate *c = self;

    return zkl_election_new(&c->election, session, c->options->run.hold.path,
                            c->options->run.hold.candidate, &c->options->election);
}

/* On a thread of the library, like the next. */
static void won(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct candidate *c = data;

    if (grant) {
        atomic_store(&c->shared->since, (int64_t)time(NULL));
        atomic_store(&c->shared->in_line, true);
        tell_supervisor(c);
    }
    attempt_end(grant, error, c->attempt);
}

static void candidate_on_event(zkl_election *election, zkl_election_event event,
                               const zkl_grant *lent, const zkl_error *error, void *data)
{
    struct candidate *c = data;
    zkl_grant *grant = NULL;
    zkl_error lost = {.code = ZKL_ELOST};

    (void)lent;
    switch (event) {
    case ZKL_ELECTION_LEADING:
        /* A reference of our own. */
        if (zkl_election_campaign(election, 0, &grant) == 0)
            won(grant, NULL, c);
        else
            won(NULL, &lost, c);
        break;
    case ZKL_ELECTION_ASKED:
        guard_ask(&c->run.guard);
        break;
    case ZKL_ELECTION_FAILED:
    case ZKL_ELECTION_STOPPED:
        if (!atomic_load(&c->attempt->done))
            won(NULL, error ? error : &lost, c);
        break;
    default: /* the holder hears it from the grant */
        break;
    }
}

static int candidate_seek(void *self, int64_t timeout_ms, struct attempt *attempt)
{
    struct candidate *c = self;

    c->attempt = attempt;
    atomic_store(&c->shared->connected, true);
    tell_supervisor(c);
    if (c->options->once)
        return zkl_election_campaign_async(c->election, timeout_ms, won, c, &c->op);
    return zkl_election_start(c->election, candidate_on_event, c);
}

static void candidate_look(void *self)
{
    struct candidate *c = self;
    zkl_election_status status = ZKL_ELECTION_STATUS_INIT;

    if (zkl_election_get_status(c->election, &status) != 0)
        return;
    if (status.ahead >= 0)
        atomic_store(&c->shared->in_line, true);
    if (atomic_exchange(&c->shared->ahead, status.ahead) != status.ahead)
        tell_supervisor(c);
}

static void find_node(struct candidate *c, int64_t session)
{
    g_autoptr(zkl_queue) queue =
        contenders_first(c->run.session, c->options->run.hold.path, CANDIDATES_READ, READ_MS);

    g_clear_pointer(&c->node, g_free);
    c->node_session = session;
    for (size_t i = 0; i < zkl_queue_count(queue) && !c->node; i++) {
        const zkl_contender *one = zkl_queue_get(queue, i);
        if (one->token != 0 && one->session_id == session)
            c->node = g_strdup(one->node);
    }
}

/* A started election has no operation that knows its node. */
static int candidate_node(void *self, char *buf, size_t size)
{
    struct candidate *c = self;
    const int64_t session = zkl_session_id(c->run.session);

    if (!c->node || c->node_session != session)
        find_node(c, session);
    if (!c->node)
        return ZKL_ENOENT;
    return (size_t)g_snprintf(buf, size, "%s/%s", c->options->run.hold.path, c->node) < size
               ? 0
               : ZKL_ERANGE;
}

static void candidate_give_up(void *self)
{
    const struct candidate *c = self;

    zkl_election_resign(c->election);
}

static void candidate_close(void *self)
{
    struct candidate *c = self;

    zkl_op_free(c->op);
    zkl_election_free(c->election);
    g_free(c->node);
}

static const struct acquire_ops candidate_ops = {.open = candidate_open,
                                                 .seek = candidate_seek,
                                                 .look = candidate_look,
                                                 .node = candidate_node,
                                                 .give_up = candidate_give_up,
                                                 .over = tell_supervisor,
                                                 .close = candidate_close};

int candidate_run(const struct settings *settings, struct elect_options *options,
                  struct events *events, struct shared *shared)
{
    struct candidate c = {.options = options,
                          .shared = shared,
                          .run = {.settings = settings,
                                  .options = &options->run,
                                  .events = events,
                                  .shared = shared,
                                  .ops = &candidate_ops,
                                  .self = &c}};

    return run_once(&c.run);
}
