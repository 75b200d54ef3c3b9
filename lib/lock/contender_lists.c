/* Lists of the directory: what is in them, the watch that they may leave, and nodes of ours that
 * they show. */
#include "contender_state.h"

#include <string.h>

#include "lib/base/log.h"
#include "recipes/name.h"
#include "recipes/rule.h"

/* Once for a directory and a matter. */
static bool is_news(struct contender *c, const char *matter)
{
    session_forget_many(c->session->logged);
    return g_hash_table_add(c->session->logged,
                            g_strconcat(matter, admission_path(c->admission), NULL));
}

/* Who does not wait for us while we do not wait for it: more often a mistake than meant. */
static void log_unrelated(struct contender *c, const struct child *child, const char *name)
{
    struct log *log = c->session->log;
    const char *directory = admission_path(c->admission),
               *path = session_path(c->session, directory);

    if (child->kind == CHILD_FOREIGN && is_news(c, "foreign ")) {
        log_line(log, ZKL_LOG_INFO, "foreign-node", path,
                 "%s: ignoring \"%.100s\", which is not a contender", directory, name);
    } else if (child->kind != CHILD_FOREIGN && is_news(c, "unrelated ")) {
        char *text = layout_incompatible(name);
        log_line(log, ZKL_LOG_WARN, "incompatible-node", path,
                 "%s: %s: its recipe does not wait for the contenders here", directory, text);
        g_free(text);
    }
}

static void parse_child(struct contender *c, const char *name, uint32_t id, struct child *child)
{
    size_t length = strlen(name);

    name_parse(name, length, child);
    child->id = id;
    child->own = name_has_id(name, length, c->id, strlen(c->id));
    child->old = c->old_id && name_has_id(name, length, c->old_id, strlen(c->old_id));
    if (rule_ignores(c->machine.rule, child->kind) &&
        !rule_waits(child->rule, rule_kind(c->machine.rule)))
        log_unrelated(c, child, name);
}

/* Whether r has left a watch on the children. */
static bool has_left_watch(struct contender *c, const struct request *r,
                           const struct store_reply *reply)
{
    if (!r->what.watch)
        return false;
    watch_answered(c->session, r, reply, &c->head->children_subscription);
    return c->head->children_subscription.watch != NULL;
}

static bool shows_own(const struct event *ev)
{
    for (size_t i = 0; i < ev->count; i++)
        if (ev->children[i].own)
            return true;
    return false;
}

/* The recipe says whether it is of use. A watch that is younger than the own node's end does not
 * end with it. */
static void step_listed(struct contender *c, struct request *r, const struct store_reply *reply,
                        struct event *ev)
{
    c->refs++;
    if (ev->watched && !shows_own(ev)) {
        watch_drop(&c->head->children_subscription, false);
        ev->watched = false;
    }
    contender_answer(r, reply, ev);
    if (ev->watched && c->machine.others != OTHERS_NONE && !c->machine.first)
        watch_drop(&c->head->children_subscription, false);
    contender_unref(c);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->context;
    struct child *children = g_new0(struct child, (gsize)reply->count);
    struct event ev = {.kind = EV_LISTED,
                       .children = children,
                       .watched = has_left_watch(c, r, reply),
                       .count = (size_t)reply->count,
                       .hint = reply->data_length > 0 ? HINT_UNREAD : HINT_NONE,
                       .version = reply->version,
                       .data_zxid = reply->mzxid};

    if (c->list == r)
        c->list = NULL;
    /* Refused here, before the create that it rides behind is answered: nothing will ride again. */
    if (reply->rc == STORE_BAD && c->create && r->tag == c->machine.tag) {
        contender_abort(c, ZKL_EPROTO, zkl_strerror(ZKL_EPROTO));
        contender_unref(c);
        g_free(children);
        return;
    }
    for (int i = 0; i < reply->count; i++)
        parse_child(c, reply->names[i], (uint32_t)i, &children[i]);
    c->listed = reply;
    step_listed(c, r, reply, &ev);
    g_free(children);
}

/* The request before it in the same step may have been refused at once, and have ended the attempt:
 * a watch would outlive it. */
void contender_ask_list(struct contender *c, const struct action *a)
{
    if (c->retired)
        return;
    c->list =
        contender_request(c, STORE_LIST, g_strdup(admission_path(c->admission)), on_listed, a->tag);
    if (a->watch)
        watch_add(c->session, c->list, &contender_head(c)->children_subscription);
    request_send(c->session, c->list);
}

void contender_delete_listed(struct contender *c, bool spare)
{
    char *keep = spare ? contender_name(c) : NULL;

    for (int i = 0; i < c->listed->count; i++) {
        struct child child;
        parse_child(c, c->listed->names[i], 0, &child);
        if ((!child.own && !child.old) || (keep && strcmp(c->listed->names[i], keep) == 0))
            continue;
        request_delete(c->session, contender_child_path(c, c->listed->names[i]));
    }
    g_free(keep);
}
