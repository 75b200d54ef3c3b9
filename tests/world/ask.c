/* Requests and transactions, as things. */
#include <string.h>

#include "inside.h"

static void clear_part(void *data)
{
    struct part *p = data;

    g_ref_string_release(p->path);
    g_ref_string_release(p->name);
    if (p->data)
        g_bytes_unref(p->data);
}

static GArray *new_parts(void)
{
    GArray *parts = g_array_new(FALSE, TRUE, sizeof(struct part));

    g_array_set_clear_func(parts, clear_part);
    return parts;
}

struct ask *ask_new(int kind, int64_t session)
{
    struct ask *ask = g_new0(struct ask, 1);

    ask->refs = 1;
    ask->kind = kind;
    ask->session = session;
    return ask;
}

static GBytes *bytes_of(const char *data, int length)
{
    return data ? g_bytes_new(data, (gsize)MAX(length, 0)) : NULL;
}

static char *name_of(const char *path)
{
    return g_ref_string_new(strrchr(path, '/') + 1);
}

static GArray *parts_of(const struct store_request *request)
{
    GArray *parts = new_parts();

    for (int i = 0; i < request->count; i++) {
        const struct store_change *c = &request->changes[i];
        struct part p = {.kind = c->kind, .version = c->version};
        p.path = g_ref_string_new(c->path);
        p.name = name_of(c->path);
        p.data = bytes_of(c->data, c->length);
        g_array_append_val(parts, p);
    }
    return parts;
}

struct ask *ask_of(const struct store_request *request)
{
    struct ask *ask = ask_new((int)request->kind, 0);

    ask->path = request->path ? g_ref_string_new(request->path) : NULL;
    ask->data = bytes_of(request->data, request->length);
    ask->mode = request->mode;
    ask->plain = request->plain;
    ask->version = request->kind == STORE_DELETE ? -1 : request->version;
    ask->watch = request->watch;
    ask->of_list = request->of_list;
    if (request->kind == STORE_MULTI)
        ask->parts = parts_of(request);
    return ask;
}

struct ask *ask_ref(struct ask *ask)
{
    ask->refs++;
    return ask;
}

void ask_unref(struct ask *ask)
{
    if (--ask->refs > 0)
        return;
    g_clear_pointer(&ask->path, g_ref_string_release);
    g_clear_pointer(&ask->data, g_bytes_unref);
    g_clear_pointer(&ask->parts, g_array_unref);
    g_clear_pointer(&ask->names, g_ptr_array_unref);
    g_clear_pointer(&ask->reply_path, g_ref_string_release);
    g_clear_pointer(&ask->reply_data, g_bytes_unref);
    g_free(ask);
}

bool ask_is_write(const struct ask *ask)
{
    if (ask->unknown)
        return false;
    return ask->kind == STORE_CREATE || ask->kind == STORE_DELETE || ask->kind == STORE_SET ||
           ask->kind >= STORE_MULTI;
}

struct txn *txn_new(enum txn_kind kind, int64_t session)
{
    struct txn *txn = g_new0(struct txn, 1);

    txn->refs = 1;
    txn->kind = kind;
    txn->session = session;
    txn->parts = new_parts();
    return txn;
}

struct txn *txn_ref(struct txn *txn)
{
    txn->refs++;
    return txn;
}

void txn_unref(struct txn *txn)
{
    if (--txn->refs > 0)
        return;
    if (txn->ask)
        ask_unref(txn->ask);
    if (txn->syncs)
        g_ptr_array_unref(txn->syncs);
    g_array_unref(txn->parts);
    g_free(txn);
}
