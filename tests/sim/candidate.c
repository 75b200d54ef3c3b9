#include "candidate.h"

#include <string.h>

#include "client.h"
#include "foreign_node.h"
#include "trace.h"
#include "write.h"

static struct stage *stage_of(const struct candidate *c)
{
    return c->process->stage;
}

static void wrong(const struct candidate *c, const char *what)
{
    stage_wrong(stage_of(c), "%s/c%u at %s: %s", host_name(c->process->host), c->number,
                client_paths[c->line], what);
}

static void tell(const struct candidate *c, const char *what, const char *more)
{
    client_tell(c->process, "c%u %s%s", c->number, what, more);
}

/* ---- its status ---- */

static void check_leading(const struct candidate *c, const zkl_election_status *status)
{
    if (status->token == 0)
        wrong(c, "its status is LEADING without a token");
    else if (c->term && c->term->grant && !c->term->released && status->token != c->term->token)
        wrong(c, "its status has another token than its term");
    else if (c->running && status->terms < c->terms + !c->term)
        wrong(c, "its status has too few terms");
}

static void check_status(const struct candidate *c, const zkl_election_status *status)
{
    bool goes_on = c->running && !c->stopping && !c->ended && !c->options.once;

    if (status->candidacy == ZKL_CANDIDACY_LEADING)
        check_leading(c, status);
    else if (status->token != 0)
        wrong(c, "its status has a token without LEADING");
    else if (candidate_leads(c))
        wrong(c, "its status denies that it leads");
    if (status->candidacy == ZKL_CANDIDACY_NONE && goes_on && !c->term)
        wrong(c, "its status is NONE, though nobody ended it");
    if (status->candidacy == ZKL_CANDIDACY_PAUSED && status->last.code == 0)
        wrong(c, "its status is PAUSED without a reason");
    if (status->ahead != -1 && status->candidacy != ZKL_CANDIDACY_QUEUED)
        wrong(c, "its status has some ahead without being QUEUED");
}

void candidate_check(struct candidate *c)
{
    zkl_election_status status = {.size = sizeof status};

    if (!c->election || c->closed || c->abandoned)
        return;
    struct host *before = host_enter(c->process->host);
    if (zkl_election_get_status(c->election, &status) != 0)
        wrong(c, "its status cannot be read");
    else
        check_status(c, &status);
    host_enter(before);
}

/* ---- what it is told ---- */

bool candidate_leads(const struct candidate *c)
{
    if (!c->term || !c->term->grant || c->term->released || c->abandoned)
        return false;
    struct host *before = host_enter(c->process->host);
    bool leads = zkl_grant_state(c->term->grant) <= ZKL_SUSPECT;
    host_enter(before);
    return leads;
}

static void on_leading(struct candidate *c, const zkl_grant *grant)
{
    if (c->term)
        wrong(c, "is told LEADING in the middle of a term");
    else if (c->ended)
        wrong(c, "is told LEADING behind its only term");
    c->terms++;
    stage_of(c)->tally.terms++;
    c->asked = c->unsure = false;
    c->proclaimed = 0;
    g_clear_pointer(&c->said, g_free);
    c->term = acquisition_of_term(c, grant);
}

static void on_state(struct candidate *c, const zkl_grant *grant, zkl_state state)
{
    if (!c->term) {
        wrong(c, "is told of a term that it does not have");
        return;
    }
    if (grant && strcmp(zkl_grant_node(grant), c->term->node) != 0)
        wrong(c, "is told of another grant than its term's");
    acquisition_hear(c->term, grant, state);
    if (state < ZKL_LOST)
        return;
    c->lost = state == ZKL_LOST;
    c->term = NULL;
    c->ended = c->options.once;
}

static void on_asked(struct candidate *c)
{
    if (!c->term)
        wrong(c, "is ASKED without a term");
    else if (c->asked)
        wrong(c, "is ASKED twice in a term");
    else if (!c->options.yield)
        wrong(c, "is ASKED, though that was not wanted");
    c->asked = true;
    stage_of(c)->tally.asked++;
}

static bool may_fail(const struct candidate *c, const zkl_error *err)
{
    const struct oracle *o = &stage_of(c)->oracle;
    /* The campaign may have begun before its reason was told. */
    int64_t since = c->heard_at - 3 * c->process->options.session_timeout_ms * INT64_C(1000000);

    if (err && err->code == ZKL_ELAYOUT)
        return foreign_nodes_explain(stage_of(c), c->line, ZKL_PEER_CURATOR, err->text, since);
    return err && ((err->code == ZKL_EACCES && o->refusing) ||
                   (err->code == ZKL_EOVERFLOW && o->numbers_end));
}

static void on_failed(const struct candidate *c, const zkl_error *err)
{
    if (c->term)
        wrong(c, "is told FAILED in the middle of a term");
    else if (!may_fail(c, err))
        wrong(c, err ? err->text : "is told FAILED without an error");
    stage_of(c)->tally.failed++;
    stage_of(c)->tally.refused += err && err->code == ZKL_ELAYOUT;
}

static void on_stopped(struct candidate *c, const zkl_error *err)
{
    int code = err ? err->code : 0, due = 0;

    if (c->stopping)
        due = c->closed ? ZKL_ECLOSED : 0;
    else if (c->ended)
        due = c->lost ? ZKL_ELOST : 0;
    else
        wrong(c, "is STOPPED, though nobody wanted that");
    if (c->term)
        wrong(c, "is STOPPED in the middle of a term");
    /* Resigned or lost before it was closed: either. */
    else if (code != due && !(c->closed && (code == 0 || code == ZKL_ECLOSED)))
        wrong(c, err ? err->text : "is STOPPED without its reason");
    c->running = false;
}

static void hear(struct candidate *c, zkl_election_event event, const zkl_grant *grant,
                 const zkl_error *err)
{
    switch (event) {
    case ZKL_ELECTION_LEADING:
        on_leading(c, grant);
        break;
    case ZKL_ELECTION_SUSPECT:
        on_state(c, grant, ZKL_SUSPECT);
        break;
    case ZKL_ELECTION_HELD:
        on_state(c, grant, ZKL_HELD);
        break;
    case ZKL_ELECTION_LOST:
        on_state(c, grant, ZKL_LOST);
        break;
    case ZKL_ELECTION_RESIGNED:
        on_state(c, grant, ZKL_RELEASED);
        break;
    case ZKL_ELECTION_ASKED:
        on_asked(c);
        break;
    case ZKL_ELECTION_FAILED:
        on_failed(c, err);
        break;
    case ZKL_ELECTION_STOPPED:
        on_stopped(c, err);
        break;
    }
}

static void on_event(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                     const zkl_error *err, void *data)
{
    struct candidate *c = data;

    if (c->abandoned)
        return;
    tell(c, "is told ", election_event_name(event));
    if (!c->running)
        wrong(c, "is told something behind STOPPED");
    if (c->election && e != c->election)
        wrong(c, "is told something of another election");
    hear(c, event, grant, err);
    c->heard_at = stage_now(stage_of(c));
    candidate_check(c);
    if (c->then)
        c->then(c, event);
}

/* ---- what it does ---- */

struct candidate *candidate_new(struct client *p, int line, const zkl_election_options *options,
                                void (*then)(struct candidate *c, zkl_election_event event),
                                void *data)
{
    struct candidate *c = g_new0(struct candidate, 1);
    struct host *before = host_enter(p->host);

    g_ptr_array_add(p->stage->candidates, c);
    c->process = p;
    c->number = p->stage->candidates->len;
    c->line = line;
    c->options = *options;
    if (line != LINE_SELECTOR)
        c->options.layout = ZKL_LAYOUT_LATCH;
    else if (c->options.layout != ZKL_LAYOUT_KAZOO)
        c->options.layout = ZKL_LAYOUT_SELECTOR;
    else
        c->options.priority = 0;
    c->then = then;
    c->data = data;
    char *id = g_strdup_printf("%s/c%u", host_name(p->host), c->number);
    if (zkl_election_new(&c->election, p->session, client_paths[line], id, &c->options) != 0)
        wrong(c, "no candidate could be made");
    g_free(id);
    host_enter(before);
    return c;
}

void candidate_free(void *candidate)
{
    struct candidate *c = candidate;

    g_free(c->said);
    g_free(c);
}

void candidate_start(struct candidate *c)
{
    struct host *before = host_enter(c->process->host);

    tell(c, "starts at ", client_paths[c->line]);
    c->running = true;
    c->heard_at = stage_now(stage_of(c));
    c->stopping = c->ended = c->lost = false;
    if (zkl_election_start(c->election, on_event, c) != 0)
        wrong(c, "could not be started");
    if (zkl_election_start(c->election, on_event, c) != ZKL_EBUSY)
        wrong(c, "could be started twice");
    host_enter(before);
}

static void check_code(const struct candidate *c, const char *what, int code, bool leads)
{
    bool fits = leads ? code == 0 : code == 0 || code == ZKL_ELOST || code == ZKL_EPERM;

    if (!fits)
        stage_wrong(stage_of(c), "c%u: %s answers %s", c->number, what, zkl_strerror(code));
}

void candidate_yield(struct candidate *c)
{
    bool leads = candidate_leads(c);

    tell(c, "yields", "");
    struct host *before = host_enter(c->process->host);
    if (c->term)
        acquisition_release(c->term);
    check_code(c, "zkl_election_yield()", zkl_election_yield(c->election), leads);
    host_enter(before);
}

/* What it has is going to end by itself. */
static void expect_end(struct candidate *c)
{
    c->stopping = true;
    if (c->term)
        acquisition_release(c->term);
}

void candidate_resign(struct candidate *c, struct acquisition *campaign)
{
    bool leads = candidate_leads(c);

    tell(c, "resigns", "");
    struct host *before = host_enter(c->process->host);
    expect_end(c);
    if (campaign)
        campaign->canceled = !campaign->completed;
    check_code(c, "zkl_election_resign()", zkl_election_resign(c->election), leads);
    host_enter(before);
}

void candidate_drop(struct candidate *c, struct acquisition *campaign)
{
    tell(c, "is freed", "");
    struct host *before = host_enter(c->process->host);
    expect_end(c);
    if (campaign)
        campaign->closed = !campaign->completed;
    zkl_election_free(g_steal_pointer(&c->election));
    if (campaign)
        acquisition_release(campaign);
    host_enter(before);
}

/* ---- proclaiming ---- */

struct proclamation {
    struct candidate *candidate;
    const struct acquisition *term;
    char *text;
};

static void on_proclaimed(const zkl_error *err, void *data)
{
    struct proclamation *p = data;
    struct candidate *c = p->candidate;
    int code = err ? err->code : 0;

    if (!c->abandoned) {
        tell(c, "has proclaimed: ", err ? err->text : p->text);
        if (!write_may_answer(stage_of(c), code))
            wrong(c, err ? err->text : "");
        stage_of(c)->tally.proclaimed += code == 0;
    }
    if (c->term == p->term && code == 0) {
        g_free(c->said);
        c->said = g_steal_pointer(&p->text);
    } else if (c->term == p->term) {
        c->unsure = true;
    }
    g_free(p->text);
    g_free(p);
}

void candidate_proclaim(struct candidate *c, int64_t timeout_ms)
{
    struct proclamation *p;

    if (!candidate_leads(c))
        return;
    p = g_new0(struct proclamation, 1);
    p->candidate = c;
    p->term = c->term;
    p->text = g_strdup_printf("%" G_GINT64_MODIFIER "x:%u", c->term->token, ++c->proclaimed);
    struct host *before = host_enter(c->process->host);
    if (zkl_election_proclaim_async(c->election, p->text, strlen(p->text), timeout_ms,
                                    on_proclaimed, p) != 0) {
        wrong(c, "could not proclaim though it leads");
        g_free(p->text);
        g_free(p);
    }
    host_enter(before);
}

/* ---- ends ---- */

static void on_closing(void *candidate)
{
    struct candidate *c = candidate;

    if (c->abandoned)
        return;
    c->closed = true;
    expect_end(c);
}

static void on_closed(void *candidate)
{
    zkl_election_free(g_steal_pointer(&((struct candidate *)candidate)->election));
}

static void on_dead(void *candidate)
{
    ((struct candidate *)candidate)->abandoned = true;
}

const story_end candidate_ends[STORY_ENDS] = {on_closing, on_closed, on_dead};

void candidates_at_end(struct stage *stage)
{
    for (guint i = 0; i < stage->candidates->len; i++) {
        const struct candidate *c = stage->candidates->pdata[i];
        if (c->running && !c->abandoned)
            wrong(c, "was never told STOPPED");
    }
}
