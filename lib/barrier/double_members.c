/* The members of a double barrier: listed, counted, and one of them awaited. */
#include <string.h>

#include "double_requests.h"

static gint compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct member_read {
    zkl_double_barrier *barrier;
    size_t place;
};

static void on_member(struct request *r, const struct store_reply *reply)
{
    struct member_read *read = r->context;
    zkl_double_barrier *b = read->barrier;

    if (double_is_present(b, r) && (reply->rc == STORE_OK || reply->rc == STORE_NONODE))
        g_array_index(b->czxids, uint64_t, read->place) = reply->czxid; /* 0 if it is gone */
    if (reply->rc == STORE_NOAUTH || reply->rc == STORE_BAD)
        double_refuse(b, r->tag, call_error(reply->rc));
    else if (double_is_present(b, r) && reply->rc != STORE_GONE && --b->unread == 0)
        double_answer(b, r->tag, BARRIER_EV_COUNTED);
    g_free(read);
    double_unref(b);
}

/* All of those listed, or one. */
void double_read(zkl_double_barrier *b, uint32_t tag, size_t member)
{
    const bool all = member == b->names->len;
    const size_t end = all ? member : member + 1;

    b->unread = all ? end : 1;
    for (size_t i = all ? 0 : member; i < end && tag == b->machine.tag; i++) {
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
        g_array_set_size(b->czxids, b->names->len);
        for (guint i = 0; i < b->czxids->len; i++)
            g_array_index(b->czxids, uint64_t, i) = BARRIER_UNREAD;
        double_step(b, (struct barrier_event){
                           .kind = BARRIER_EV_COUNTED, .tag = r->tag, .zxid = reply->pzxid});
    }
    double_unref(b);
}

static void on_awaited(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    watch_answered(b->spec.session, r, reply, &b->member_watch);
    if (reply->rc == STORE_NONODE)
        double_answer(b, r->tag, BARRIER_EV_GONE);
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
