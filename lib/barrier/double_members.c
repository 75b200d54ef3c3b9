/* The members of a double barrier: listed, counted, and one of them awaited. */
#include <string.h>

#include "double_requests.h"

static gint compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void counted(zkl_double_barrier *b, uint32_t tag)
{
    double_answer(b, tag, BARRIER_EV_COUNTED);
}

struct member_read {
    zkl_double_barrier *barrier;
    size_t place;
};

static void on_member(struct request *r, const struct store_reply *reply)
{
    struct member_read *read = r->context;
    zkl_double_barrier *b = read->barrier;

    if (double_is_present(b, r) && reply->rc == STORE_OK)
        g_array_index(b->czxids, uint64_t, read->place) = reply->czxid;
    if (reply->rc == STORE_NOAUTH || reply->rc == STORE_BAD)
        double_refuse(b, r->tag, call_error(reply->rc));
    else if (double_is_present(b, r) && reply->rc != STORE_GONE && --b->unread == 0)
        counted(b, r->tag);
    g_free(read);
    double_unref(b);
}

static void ask_members(zkl_double_barrier *b, uint32_t tag)
{
    const size_t count = b->names->len;

    b->unread = count;
    for (size_t i = 0; i < count && tag == b->machine.tag; i++) {
        struct member_read *read = g_new(struct member_read, 1);
        char *path = g_strconcat(b->spec.path, "/", b->names->pdata[i], NULL);
        struct request *r = double_request(b, STORE_STAT, path, on_member, tag);
        *read = (struct member_read){b, i};
        r->context = read;
        request_send(b->spec.session, r);
        g_free(path);
    }
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE)
        double_refuse(b, r->tag, call_error(reply->rc));
    if (double_is_present(b, r) && (reply->rc == STORE_OK || reply->rc == STORE_NONODE)) {
        g_ptr_array_set_size(b->names, 0);
        for (int i = 0; i < reply->count; i++) {
            if (strcmp(reply->names[i], "ready") != 0)
                g_ptr_array_add(b->names, g_strdup(reply->names[i]));
        }
        g_ptr_array_sort(b->names, compare);
        g_array_set_size(b->czxids, 0);
        g_array_set_size(b->czxids, b->names->len);
        if (b->names->len > 0)
            ask_members(b, r->tag);
        else
            counted(b, r->tag);
    }
    double_unref(b);
}

void double_member_gone(zkl_double_barrier *b, uint32_t tag)
{
    if (tag == b->machine.tag)
        g_array_index(b->czxids, uint64_t, b->awaited) = 0;
    double_answer(b, tag, BARRIER_EV_GONE);
}

static void on_awaited(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    watch_answered(b->spec.session, r, reply, &b->member_watch);
    if (reply->rc == STORE_NONODE)
        double_member_gone(b, r->tag);
    else if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        double_refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

void double_ask_member(zkl_double_barrier *b, uint32_t tag)
{
    char *path = g_strconcat(b->spec.path, "/", b->names->pdata[b->awaited], NULL);

    double_send_watching(b, double_request(b, STORE_GET, path, on_awaited, tag), &b->member_watch);
    g_free(path);
}

void double_ask_list(zkl_double_barrier *b, uint32_t tag)
{
    request_send(b->spec.session, double_request(b, STORE_LIST, b->spec.path, on_listed, tag));
}
