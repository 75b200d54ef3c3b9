/* What the library asks of its store, beside what the model asks of its server. */
#include "library.h"

#include <limits.h>
#include <string.h>

#include "lib/session/request.h"
#include "recipes/payload.h"

/* What the node is to a client that asks about it, or about nothing but a watch on it. */
static const char *library_path_of(const struct ask *ask)
{
    return ask->node != MODEL_NONE && ask->verb != STORE_SET           ? library_path(ask->node)
           : ask->about == ATTEMPT_NEW || ask->about == ATTEMPT_QUORUM ? "its new node"
                                                                       : LIBRARY_DIRECTORY;
}

static bool library_is_note(const struct ask *ask)
{
    return ask->verb == STORE_SET && ask->about == ATTEMPT_HINT;
}

static void library_put(GString *text, uint8_t verb, const char *path, bool watching, bool once)
{
    static const char *const verbs[] = {
        [STORE_CREATE] = "create",  [STORE_DELETE] = "delete", [STORE_GET] = "get",
        [STORE_LIST] = "list",      [STORE_SYNC] = "sync",     [STORE_SET] = "set",
        [STORE_UNWATCH] = "unwatch"};

    g_string_append_printf(text, "  %s %s%s%s", verbs[verb], path, watching ? ", watching" : "",
                           once ? ", once" : "");
}

static void library_put_hint(GString *text, int32_t version, const char *data)
{
    g_string_append_printf(text, ", version %d: %s", version, data);
}

static char *hint_of(uint8_t node)
{
    return g_strconcat(HINT_WORDS, strrchr(library_path(node), '/') + 1, NULL);
}

static void library_put_ask(GString *text, const struct ask *ask)
{
    library_put(text, ask->verb, library_path_of(ask), ask->watch, ask->once);
    if (library_is_note(ask)) {
        char *data = hint_of(ask->node);
        library_put_hint(text, ask->version, data);
        g_free(data);
    }
    g_string_append_c(text, '\n');
}

static void library_put_request(GString *text, const struct actor *a, const struct request *r)
{
    const struct store_request *what = &r->what;
    char *new = a->contender ? library_new_node(a) : NULL;
    bool is_new = g_strcmp0(what->path, new) == 0;

    g_free(new);
    library_put(text, (uint8_t)what->kind, is_new ? "its new node" : what->path, what->watch,
                r->once);
    if (what->kind == STORE_SET && what->version != INT_MAX)
        library_put_hint(text, what->version, what->data);
    g_string_append_c(text, '\n');
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
            library_put_request(text, a, a->store->under_way->pdata[k]);
    for (const GList *l = a->session->parked.head; l; l = l->next)
        library_put_request(text, a, l->data);
}

/* A create is answered with the node that it has made. */
static struct ask library_asked_for(const struct reply *reply)
{
    struct ask ask = reply->to;

    if (ask.verb == STORE_CREATE)
        ask.node = MODEL_NONE;
    return ask;
}

void library_expects(const struct client *c, GString *text)
{
    for (int k = 0; k < c->replies_count; k++) {
        struct ask ask = library_asked_for(&c->replies[k]);
        if (!c->replies[k].fired)
            library_put_ask(text, &ask);
    }
    for (int k = 0; k < c->asks_count; k++)
        library_put_ask(text, &c->asks[k]);
}

/* ---- answers ---- */

/* The first such request under way; -1: there is none. */
static int library_find(const struct actor *a, const struct ask *ask)
{
    GString *wanted = g_string_new(NULL), *text = g_string_new(NULL);
    int found = -1;

    library_put_ask(wanted, ask);
    for (guint k = 0; a->store && k < a->store->under_way->len && found < 0; k++) {
        g_string_truncate(text, 0);
        library_put_request(text, a, a->store->under_way->pdata[k]);
        if (g_string_equal(text, wanted))
            found = (int)k;
    }
    g_string_free(text, TRUE);
    g_string_free(wanted, TRUE);
    return found;
}

static void library_answer_at(struct store *store, int at, const struct store_reply *reply)
{
    store->done(g_ptr_array_remove_index(store->under_way, (guint)at), reply);
}

void library_answer_all(struct store *store, enum store_rc rc)
{
    for (guint n = store->under_way->len; n > 0; n--)
        library_answer_at(store, 0, &(struct store_reply){.rc = rc});
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
    const struct ask ask = library_asked_for(reply);
    int at = library_find(a, &ask);
    char *names[MODEL_NODES], *data = reply->asked ? g_strdup(REVOKE_WORD) : data_of(reply->hint);
    struct store_reply to = {.rc = (enum store_rc)reply->rc,
                             .version = reply->asked ? 1 : reply->hint.version,
                             .data = data,
                             .length = (int)strlen(data),
                             .data_length = (int)strlen(data),
                             .names = names};

    for (uint8_t n = 0; n < MODEL_NODES; n++)
        if (reply->names & MODEL_BIT(n))
            names[to.count++] = strrchr(library_path(n), '/') + 1;
    to.children = to.count;
    if (to.rc == STORE_OK && reply->to.node < MODEL_NODES)
        fill_node(&to, st, reply->to.node);
    if (at >= 0)
        library_answer_at(a->store, at, &to);
    g_free(data);
    return at >= 0;
}
