/* What the library asks of its store, beside what the model asks of its server. */
#include "library.h"

#include <limits.h>
#include <string.h>

#include "recipes/revoke.h"

enum place { OF_NODE, OF_NEW_NODE, OF_DIRECTORY };

/* What is a request of the library to each of the model. */
static const struct shape {
    const char *verb;
    enum place place;
    bool watching, once;
} shapes[] = {
    [ASK_CREATE] = {.verb = "create", .place = OF_NEW_NODE, .once = true},
    [ASK_PARENTS] = {.verb = "create", .place = OF_DIRECTORY},
    [ASK_BARRIER] = {.verb = "set", .place = OF_NEW_NODE},
    [ASK_LIST] = {.verb = "list", .place = OF_DIRECTORY},
    [ASK_PROVE] = {.verb = "get", .place = OF_NODE},
    [ASK_READ] = {.verb = "get", .place = OF_NODE, .watching = true},
    [ASK_WATCH] = {.verb = "get", .place = OF_NODE, .watching = true},
    [ASK_UNWATCH] = {.verb = "unwatch", .place = OF_NODE, .once = true},
    [ASK_DELETE] = {.verb = "delete", .place = OF_NODE},
    [ASK_HINT_READ] = {.verb = "get", .place = OF_DIRECTORY},
    [ASK_HINT] = {.verb = "set", .place = OF_DIRECTORY, .once = true},
    [ASK_DIRECTORY_READ] = {.verb = "get", .place = OF_DIRECTORY},
    [ASK_DIRECTORY_DELETE] = {.verb = "delete", .place = OF_DIRECTORY},
};

static void put(GString *text, const char *verb, const char *path, bool watching, bool once)
{
    g_string_append_printf(text, "  %s %s%s%s", verb, path, watching ? ", watching" : "",
                           once ? ", once" : "");
}

static void put_hint(GString *text, int32_t version, const char *data)
{
    g_string_append_printf(text, ", version %d: %s", version, data);
}

static void put_tag(GString *text, uint32_t tag)
{
    g_string_append_printf(text, ", tag %u\n", tag);
}

static char *hint_of(uint8_t node)
{
    return g_strconcat(HINT_WORDS, strrchr(library_path(node), '/') + 1, NULL);
}

static void put_ask(GString *text, const struct ask *ask)
{
    const struct shape *shape = &shapes[ask->kind];
    const char *path = shape->place == OF_NODE       ? library_path(ask->node)
                       : shape->place == OF_NEW_NODE ? "its new node"
                                                     : LIBRARY_DIRECTORY;

    put(text, shape->verb, path, shape->watching, shape->once);
    if (ask->kind == ASK_HINT) {
        char *data = hint_of(ask->node);
        put_hint(text, (int32_t)ask->tag, data);
        g_free(data);
    }
    put_tag(text, ask->kind == ASK_HINT ? 0 : ask->tag);
}

static void put_request(GString *text, const struct actor *a, const struct request *r)
{
    static const char *const verbs[] = {
        [STORE_CREATE] = "create",  [STORE_DELETE] = "delete", [STORE_GET] = "get",
        [STORE_LIST] = "list",      [STORE_SYNC] = "sync",     [STORE_SET] = "set",
        [STORE_UNWATCH] = "unwatch"};
    const struct store_request *what = &r->what;
    char *new = a->contender ? contender_new_node(a->contender) : NULL;
    bool is_new = g_strcmp0(what->path, new) == 0;

    g_free(new);
    put(text, verbs[what->kind], is_new ? "its new node" : what->path, what->watch, r->once);
    if (what->kind == STORE_SET && what->version != INT_MAX)
        put_hint(text, what->version, what->data);
    put_tag(text, r->tag);
}

/* Proofs: the model takes a deadline as it comes. */
static bool is_of_system(const struct request *r)
{
    return g_str_has_prefix(r->what.path, "/zookeeper");
}

void library_asks(const struct actor *a, GString *text)
{
    for (guint k = 0; a->store && k < a->store->under_way->len; k++)
        if (!is_of_system(a->store->under_way->pdata[k]))
            put_request(text, a, a->store->under_way->pdata[k]);
    for (const GList *l = a->session->parked.head; l; l = l->next)
        put_request(text, a, l->data);
}

static struct ask asked_for(const struct reply *reply)
{
    return (struct ask){.kind = reply->kind, .node = reply->node, .tag = reply->tag};
}

void library_expects(const struct client *c, GString *text)
{
    for (int k = 0; k < c->replies_count; k++) {
        struct ask ask = asked_for(&c->replies[k]);
        if (ask.kind != REPLY_FIRED)
            put_ask(text, &ask);
    }
    for (int k = 0; k < c->asks_count; k++)
        put_ask(text, &c->asks[k]);
}

/* ---- answers ---- */

/* The first such request under way; -1: there is none. */
static int find(const struct actor *a, const struct ask *ask)
{
    GString *wanted = g_string_new(NULL), *text = g_string_new(NULL);
    int found = -1;

    put_ask(wanted, ask);
    for (guint k = 0; a->store && k < a->store->under_way->len && found < 0; k++) {
        g_string_truncate(text, 0);
        put_request(text, a, a->store->under_way->pdata[k]);
        if (g_string_equal(text, wanted))
            found = (int)k;
    }
    g_string_free(text, TRUE);
    g_string_free(wanted, TRUE);
    return found;
}

static void answer(struct store *store, int at, const struct store_reply *reply)
{
    store->done(g_ptr_array_remove_index(store->under_way, (guint)at), reply);
}

void library_answer_all(struct store *store, enum store_rc rc)
{
    for (guint n = store->under_way->len; n > 0; n--)
        answer(store, 0, &(struct store_reply){.rc = rc});
}

/* The last one that the driver takes for it. */
static enum store_rc code_of(enum answer wanted)
{
    int code = STORE_UNKNOWN;

    while (contender_to_answer((enum store_rc)code) != wanted)
        code--;
    return (enum store_rc)code;
}

static char *data_of(struct hint hint)
{
    if (hint.node == MODEL_FOREIGN)
        return g_strdup("others'");
    return hint.node == MODEL_NONE ? g_strdup("") : hint_of(hint.node);
}

static void fill_node(struct store_reply *to, const struct state *st, uint8_t node)
{
    const struct node *n = &st->nodes[node];

    to->path = library_path(node);
    to->czxid = n->czxid;
    to->ephemeral_owner = library_session_id(n->client, n->session);
}

bool library_answer(struct actor *a, const struct state *st, const struct reply *reply)
{
    const struct ask ask = asked_for(reply);
    int at = find(a, &ask);
    char *names[MODEL_NODES], *data = reply->asked ? g_strdup(REVOKE_WORD) : data_of(reply->hint);
    struct store_reply to = {.rc = code_of((enum answer)reply->answer),
                             .version = reply->asked ? 1 : reply->hint.version,
                             .data = data,
                             .length = (int)strlen(data),
                             .data_length = (int)strlen(data),
                             .names = names};

    for (uint8_t n = 0; n < MODEL_NODES; n++)
        if (reply->names & MODEL_BIT(n))
            names[to.count++] = strrchr(library_path(n), '/') + 1;
    to.children = to.count;
    if (to.rc == STORE_OK && reply->node < MODEL_NODES)
        fill_node(&to, st, reply->node);
    if (at >= 0)
        answer(a->store, at, &to);
    g_free(data);
    return at >= 0;
}
