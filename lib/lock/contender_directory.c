/* What an attempt does with its directory: makes it, marks it, and gives it up when its numbers are
 * used up. */
#include <string.h>

#include "contender_requests.h"
#include "locks.h"
#include "recipes/observe.h"

/* ---- the directory and its parents ---- */

/* The last one's answer counts; but if it could not be made for want of a parent, the reason is
 * what stopped the first of them. */
static void on_parent(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->owner;
    enum answer got = contender_to_answer(reply->rc);
    bool good = got == ANSWER_OK || got == ANSWER_EXISTS;

    if (!good && c->parents_answer == ANSWER_OK) {
        c->parents_answer = got;
        c->blame = (unsigned)strlen(r->what.path);
    }
    if (--c->parents_left > 0 || reply->rc == STORE_GONE) {
        contender_unref(c);
        return;
    }
    struct event ev = {
        .kind = EV_PARENTS_MADE, .answer = good ? ANSWER_OK : c->parents_answer, .tag = r->tag};
    contender_step(c, &ev);
    contender_unref(c);
}

void contender_ask_parents(struct contender *c, uint32_t tag)
{
    const char *directory = admission_path(c->admission);

    c->parents_answer = ANSWER_OK;
    for (const char *at = directory; at; at = strchr(at + 1, '/'))
        c->parents_left++;
    for (const char *at = directory; at;) {
        at = strchr(at + 1, '/');
        size_t length = at ? (size_t)(at - directory) : strlen(directory);
        struct request *r =
            contender_request(c, STORE_CREATE, g_strndup(directory, length), on_parent, tag);
        r->what.mode = c->parents == ZKL_PARENTS_CONTAINER ? STORE_CONTAINER : STORE_PERSISTENT;
        request_send(c->session, r);
    }
}

static void on_reset(struct request *r, const struct store_reply *reply)
{
    contender_answer(r, reply, &(struct event){.kind = EV_RESET});
}

/* Nothing but what a leader has proclaimed, or the mark of one that was the head, if that. */
static bool is_empty(const struct store_reply *reply)
{
    uint64_t token;
    size_t at;

    return reply->children == 0 &&
           (mark_read(reply->data, (size_t)reply->length, "") != MARK_FOREIGN ||
            observe_data(reply->data, (size_t)reply->length, &token, &at));
}

/* The server does not tell a container from a persistent node: what we would make as a container,
 * and is as empty as one we made, may go. */
static void on_directory_read(struct request *r, const struct store_reply *reply)
{
    struct contender *c = r->owner;

    if (reply->rc == STORE_OK && c->parents == ZKL_PARENTS_CONTAINER && is_empty(reply)) {
        request_send(c->session,
                     contender_request(c, STORE_DELETE, g_strdup(admission_path(c->admission)),
                                       on_reset, r->tag));
        contender_unref(c);
        return;
    }
    struct store_reply verdict = *reply;
    if (verdict.rc == STORE_OK)
        verdict.rc = STORE_NOTEMPTY;
    on_reset(r, &verdict);
}

void contender_reset(struct contender *c, uint32_t tag)
{
    request_send(c->session, contender_request(c, STORE_GET, g_strdup(admission_path(c->admission)),
                                               on_directory_read, tag));
}

/* ---- marks ---- */

/* How long a directory that refused one is left in peace. */
#define UNMARKABLE_NS (60000 * CLOCK_MS)

static void on_mark_read(struct request *r, const struct store_reply *reply)
{
    const struct contender *c = r->owner;
    const char *name = strrchr(c->predecessor, '/') + 1;

    contender_answer(r, reply,
                     &(struct event){.kind = EV_MARK_READ,
                                     .count = (size_t)reply->children,
                                     .version = reply->version,
                                     .mark = mark_read(reply->data, (size_t)reply->length, name)});
}

void contender_read_mark(struct contender *c, uint32_t tag)
{
    request_send(c->session, contender_request(c, STORE_GET, g_strdup(admission_path(c->admission)),
                                               on_mark_read, tag));
}

/* Another's mark may have come first, or none be there any more to make room for: no matter. */
static void on_marked(struct request *r, const struct store_reply *reply)
{
    zkl_session *s = r->owner;

    if (reply->rc == STORE_NOAUTH || reply->rc == STORE_BAD) {
        const int64_t until = clock_now().boot + UNMARKABLE_NS;
        g_hash_table_replace(locks_of(s)->unmarkable, g_strdup(r->what.path),
                             g_memdup2(&until, sizeof until));
    }
}

static bool is_markable(const struct contender *c)
{
    const int64_t *until =
        g_hash_table_lookup(locks_of(c->session)->unmarkable, admission_path(c->admission));

    return !until || *until <= clock_now().boot;
}

/* Tried once, and now: a mark that comes late helps nobody. */
void contender_mark(struct contender *c, int32_t version)
{
    zkl_session *s = c->session;
    struct request *r;

    if (!is_markable(c))
        return;
    r = request_new(STORE_SET, g_strdup(admission_path(c->admission)), on_marked, s);
    r->once = true;
    char *name = contender_name(c);
    r->what.data = g_strconcat(MARK_WORDS, name, NULL);
    g_free(name);
    r->what.length = (int)strlen(r->what.data);
    r->what.version = version;
    request_try(s, r);
}
