#include "onlooker.h"

#include <stdio.h>
#include <string.h>

#include "candidate.h"
#include "client.h"
#include "nodes.h"
#include "stage.h"

static void wrong(const struct onlooker *o, const char *what)
{
    stage_wrong(o->process->stage, "%s/o%u at %s is told %" G_GINT64_MODIFIER "x: %s",
                host_name(o->process->host), o->number, client_paths[o->line], o->token, what);
}

static void trace_told(const struct onlooker *o, const zkl_leader *leader)
{
    struct stage *stage = o->process->stage;

    if (!stage->trace)
        return;
    char *node = trace_shorten(stage->trace, leader->node);
    client_tell(o->process, "o%u is told %" G_GINT64_MODIFIER "x %s %s %.*s", o->number,
                leader->token, leader->token ? leader->id : "nobody", node, (int)leader->size,
                leader->data ? (const char *)leader->data : "");
    g_free(node);
}

static bool is_an_id(const struct onlooker *o, const char *id)
{
    const GPtrArray *candidates = o->process->stage->candidates;
    unsigned number = 0;
    const char *slash = strchr(id, '/');

    if (!slash || sscanf(slash, "/c%u", &number) != 1 || number == 0 || number > candidates->len)
        return false;
    const struct candidate *c = candidates->pdata[number - 1];
    return c->line == o->line && g_str_has_prefix(id, host_name(c->process->host));
}

static void check_leader(struct onlooker *o, const zkl_leader *leader)
{
    const struct contender_node *n = nodes_of_token(&o->process->stage->oracle, leader->token);

    if (!n || n->line != o->line)
        wrong(o, "that is no candidate of this election");
    else if (strcmp(strrchr(n->path, '/') + 1, leader->node) != 0)
        wrong(o, "that is not the name of its node");
    else if (!is_an_id(o, leader->id))
        wrong(o, "that is no candidate's id");
}

/* What is proclaimed begins with the token of whoever did. */
static void check_said(const struct onlooker *o, const zkl_leader *leader)
{
    char *own = g_strdup_printf("%" G_GINT64_MODIFIER "x:", leader->token);
    const char *data = leader->data;

    if (data && (leader->size < strlen(own) || memcmp(data, own, strlen(own)) != 0))
        wrong(o, "another one has proclaimed that");
    g_free(own);
}

static bool is_news(const struct onlooker *o, const zkl_leader *leader)
{
    if (!o->said || !leader->data)
        return o->said != leader->data;
    return strlen(o->said) != leader->size || memcmp(o->said, leader->data, leader->size) != 0;
}

/* A candidate that was made before the last one told counts as nobody: only a used-up number lets
 * it be first after that one. */
static uint64_t seen(const struct onlooker *o, uint64_t token)
{
    return token < o->top && !o->restored ? 0 : token;
}

bool onlooker_knows(const struct onlooker *o)
{
    return o->any && o->token == seen(o, oracle_head(o->process->stage, o->line)->token);
}

/* The next head that was so. */
static bool find(struct onlooker *o, uint64_t token)
{
    const GArray *heads = o->process->stage->oracle.heads[o->line];

    for (guint i = o->any ? o->at + 1 : 0; i < heads->len; i++) {
        if (seen(o, g_array_index(heads, struct head, i).token) == token) {
            o->at = i;
            g_array_append_val(o->told, i);
            return true;
        }
    }
    return false;
}

/* Several may have the last number that there is. Each of them may pass for the first. */
static bool is_used_up(const struct onlooker *o, uint64_t token)
{
    const struct contender_node *n =
        token ? nodes_of_token(&o->process->stage->oracle, token) : NULL;

    return n && !nodes_is_usable(n);
}

static void begin_anew(struct onlooker *o)
{
    o->restored = false;
    o->top = 0;
}

static void take(struct onlooker *o, const zkl_leader *leader)
{
    bool same = o->any && o->token == leader->token;
    bool news = is_news(o, leader);

    o->token = leader->token;
    if (o->restored && leader->token && leader->token <= o->top)
        begin_anew(o);
    if (same && !(leader->token && (news || o->rewound)))
        wrong(o, "that was told before");
    else if (!same && leader->token && leader->token <= o->top)
        wrong(o, "that is not above what was told before");
    else if (!same && !is_used_up(o, leader->token) && !find(o, leader->token) && !o->restored)
        wrong(o, leader->token ? "it has not been first since what was told before"
                               : "somebody was first all the time");
    o->any = true;
    o->rewound = false;
    o->top = MAX(o->top, leader->token);
    g_free(o->said);
    o->said = leader->data ? g_strndup(leader->data, leader->size) : NULL;
}

static void on_leader(const zkl_leader *leader, void *data)
{
    struct onlooker *o = data;

    if (o->abandoned)
        return;
    trace_told(o, leader);
    if (o->ended)
        wrong(o, "it is told something behind its end");
    take(o, leader);
    if (leader->token) {
        check_leader(o, leader);
        check_said(o, leader);
    }
    o->process->stage->tally.told++;
}

struct onlooker *onlooker_new(struct client *p, int line)
{
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    struct onlooker *o = g_new0(struct onlooker, 1);
    struct host *before = host_enter(p->host);

    g_ptr_array_add(p->stage->onlookers, o);
    o->process = p;
    o->number = p->stage->onlookers->len;
    o->line = line;
    o->told = g_array_new(FALSE, FALSE, sizeof(guint));
    options.layout = line == LINE_SELECTOR ? ZKL_LAYOUT_SELECTOR : ZKL_LAYOUT_LATCH;
    client_tell(p, "o%u observes %s", o->number, client_paths[line]);
    if (zkl_election_new(&o->election, p->session, client_paths[line], NULL, &options) != 0 ||
        zkl_election_watch(&o->observer, o->election, on_leader, o) != 0)
        wrong(o, "nothing can be observed");
    host_enter(before);
    return o;
}

static void give_up_handles(struct onlooker *o, bool handle)
{
    if (handle)
        zkl_election_free(g_steal_pointer(&o->election));
    zkl_watch_free(g_steal_pointer(&o->observer));
    zkl_election_free(g_steal_pointer(&o->election));
}

void onlooker_free(void *onlooker)
{
    struct onlooker *o = onlooker;

    g_array_unref(o->told);
    g_free(o->said);
    g_free(o);
}

void onlooker_end(struct onlooker *o, bool handle)
{
    struct host *before = host_enter(o->process->host);

    client_tell(o->process, "o%u observes no more", o->number);
    o->ended = true;
    give_up_handles(o, handle);
    host_enter(before);
}

bool onlooker_is_there(const struct onlooker *o)
{
    return !o->ended && !o->abandoned;
}

bool onlookers_look_at(const struct stage *stage, const struct host *host, int line)
{
    for (guint i = 0; i < stage->onlookers->len; i++) {
        const struct onlooker *o = stage->onlookers->pdata[i];
        if (o->process->host == host && o->line == line)
            return true;
    }
    return false;
}

void onlookers_restored(const struct stage *stage)
{
    for (guint i = 0; i < stage->onlookers->len; i++)
        ((struct onlooker *)stage->onlookers->pdata[i])->restored = true;
}

void onlookers_rewound(const struct client *p)
{
    for (guint i = 0; i < p->stage->onlookers->len; i++) {
        struct onlooker *o = p->stage->onlookers->pdata[i];
        o->rewound |= o->process == p;
    }
}

static void on_closed(void *onlooker)
{
    struct onlooker *o = onlooker;

    o->ended = true;
    give_up_handles(o, false);
}

static void on_dead(void *onlooker)
{
    ((struct onlooker *)onlooker)->abandoned = true;
}

const story_end onlooker_ends[STORY_ENDS] = {NULL, on_closed, on_dead};
