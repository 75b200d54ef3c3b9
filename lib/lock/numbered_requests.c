/* What numbered permits ask of the server; recipes/numbering.h decides. */
#include <string.h>

#include "grant.h"
#include "lib/session/request.h"
#include "numbered_state.h"
#include "recipes/name.h"
#include "recipes/revoke.h"
#include "recipes/rule.h"
#include "recipes/transaction.h"

static struct request *request_for(struct numbered *n, enum store_kind kind, const char *path,
                                   void (*done)(struct request *r, const struct store_reply *reply))
{
    struct request *r = request_new(kind, g_strdup(path), done, n);

    n->refs++;
    r->tag = n->machine.tag;
    return r;
}

/* An answer; of a session that is over the contender's end tells. */
static void answered(struct numbered *n, const struct request *r, const struct store_reply *reply,
                     struct numbering_event ev)
{
    ev.tag = r->tag;
    if (reply->rc == STORE_NONODE)
        ev.answer = NUMBERING_GONE;
    else if (reply->rc == STORE_BADVERSION)
        ev.answer = NUMBERING_CHANGED;
    else if (reply->rc != STORE_OK)
        ev.answer = NUMBERING_REFUSED;
    n->denied = reply->rc == STORE_NOAUTH;
    if (reply->rc != STORE_GONE && n->decided)
        numbered_step(n, &ev);
    numbered_unref(n);
}

static struct child child_at(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct child child;

    name_parse(name, strlen(name), &child);
    return child;
}

static bool is_before(const struct child *child, int32_t number)
{
    return child->kind == CHILD_LEASE && child->numbered && rule_compare(child->number, number) < 0;
}

static gint compare_places(gconstpointer a, gconstpointer b)
{
    return rule_compare(child_at(*(char *const *)a).number, child_at(*(char *const *)b).number);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct numbered *n = r->context;
    struct child child;
    struct numbering_event ev = {.kind = NUMBERING_EV_LISTED};

    if (reply->rc == STORE_OK && n->grant && r->tag == n->machine.tag) {
        const int32_t number = child_at(grant_full_node(n->grant)).number;
        g_ptr_array_set_size(n->before, 0);
        g_array_set_size(n->used, 0);
        for (int i = 0; i < reply->count; i++) {
            name_parse(reply->names[i], strlen(reply->names[i]), &child);
            if (!is_before(&child, number))
                continue;
            g_ptr_array_add(n->before, g_strconcat(n->spec.directory, "/", reply->names[i], NULL));
            ev.permits += child.permits;
        }
        g_ptr_array_sort(n->before, compare_places);
        ev.count = n->before->len;
    }
    answered(n, r, reply, ev);
}

/* How many numbers the data have; they are behind those in numbers then. */
static size_t read_numbers(const struct store_reply *reply, GArray *numbers, int32_t *ret_ceiling)
{
    uint32_t transaction;
    const char *data = reply->data ? reply->data : "";
    size_t payload, length = transaction_payload(data, (size_t)reply->length, &transaction);
    const guint at = numbers->len;
    const size_t count = numbering_read(data, length, NULL, 0, &payload);

    if (count == 0)
        return 0;
    g_array_set_size(numbers, at + (guint)count);
    *ret_ceiling = numbering_ceiling(data, &length);
    numbering_read(data, length, &g_array_index(numbers, int32_t, at), count, &payload);
    return count;
}

/* Of one before it. What is known of it is not read again; and whoever is gone has none. */
static void take_numbers(struct numbered *n, const struct request *r,
                         const struct store_reply *reply, enum numbering_event_kind kind)
{
    struct numbering_event ev = {.kind = kind, .answer = NUMBERING_NONE_YET};
    const bool current = r->tag == n->machine.tag;

    for (guint i = 0; current && i < n->before->len; i++)
        if (g_strcmp0(n->before->pdata[i], r->what.path) == 0)
            ev.who = i;
    if (current && reply->rc == STORE_OK && read_numbers(reply, n->used, &ev.ceiling) > 0)
        ev.answer = NUMBERING_OK;
    if (current && (ev.answer == NUMBERING_OK || reply->rc == STORE_NONODE))
        g_clear_pointer(&n->before->pdata[ev.who], g_free);
    answered(n, r, reply, ev);
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    take_numbers(r->context, r, reply, NUMBERING_EV_READ);
}

static int compare(gconstpointer a, gconstpointer b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* The numbers will replace what asks it to give way: nobody reads that later. */
static void on_own_read(struct request *r, const struct store_reply *reply)
{
    struct numbered *n = r->context;
    struct numbering_event ev = {.kind = NUMBERING_EV_OWN, .answer = NUMBERING_NONE_YET};
    GArray *own = g_array_new(FALSE, TRUE, sizeof(int32_t));

    if (reply->rc == STORE_OK && r->tag == n->machine.tag) {
        n->version = reply->version;
        if (revoke_asks(reply->data, reply->length, reply->version))
            grant_call(n->grant, GRANT_ASKED);
        if (read_numbers(reply, own, &ev.ceiling) == numbered_permits(n)) {
            g_array_sort(own, compare);
            memcpy(n->numbers, own->data, own->len * sizeof(int32_t));
            n->ceiling = ev.ceiling;
            ev.answer = NUMBERING_OK;
        }
    }
    g_array_unref(own);
    answered(n, r, reply, ev);
}

static void read_before(struct numbered *n, uint32_t who)
{
    request_send(n->session, request_for(n, STORE_GET, n->before->pdata[who], on_read));
}

static void read_unknown(struct numbered *n)
{
    for (guint i = 0; i < n->before->len; i++)
        if (n->before->pdata[i])
            read_before(n, i);
}

static void on_watched(struct request *r, const struct store_reply *reply)
{
    struct numbered *n = r->context;

    watch_answered(n->session, r, reply, &n->subscription);
    take_numbers(n, r, reply, NUMBERING_EV_WATCHED);
}

void numbered_fired(void *context, bool gone)
{
    (void)gone;
    numbered_step(context, &(struct numbering_event){.kind = NUMBERING_EV_FIRED});
}

static void watch_before(struct numbered *n, uint32_t who)
{
    struct request *r = request_for(n, STORE_GET, n->before->pdata[who], on_watched);

    if (watch_add(n->session, r, &n->subscription)) {
        request_send(n->session, r);
        return;
    }
    request_free(r);
    numbered_step(n, &(struct numbering_event){.kind = NUMBERING_EV_END});
    numbered_fail(n, ZKL_ELIMIT);
    numbered_unref(n);
}

static void on_written(struct request *r, const struct store_reply *reply)
{
    answered(r->context, r, reply, (struct numbering_event){.kind = NUMBERING_EV_WRITTEN});
}

/* Once for a node: a set whose answer was lost may have been read by those behind, and then been
 * written over. */
static void choose(struct numbered *n)
{
    if (!n->chosen)
        n->ceiling = numbering_choose((const int32_t *)(const void *)n->used->data, n->used->len,
                                      n->machine.first, n->numbers, numbered_permits(n));
    n->chosen = true;
}

/* What somebody else has written since the read is heard of by the version. */
static void write_numbers(struct numbered *n)
{
    struct request *r = request_for(n, STORE_SET, grant_full_node(n->grant), on_written);

    choose(n);
    r->what.version = n->version;
    r->what.data = numbered_text(n);
    r->what.length = (int)strlen(r->what.data);
    request_send(n->session, r);
}

void numbered_ask(struct numbered *n, const struct numbering_action *a)
{
    if (a->kind == NUMBERING_ACT_LIST)
        request_send(n->session, request_for(n, STORE_LIST, n->spec.directory, on_listed));
    else if (a->kind == NUMBERING_ACT_OWN)
        request_send(n->session, request_for(n, STORE_GET, grant_full_node(n->grant), on_own_read));
    else if (a->kind == NUMBERING_ACT_LOOK)
        read_before(n, a->who);
    else if (a->kind == NUMBERING_ACT_READ)
        read_unknown(n);
    else if (a->kind == NUMBERING_ACT_WATCH)
        watch_before(n, a->who);
    else
        write_numbers(n);
}
