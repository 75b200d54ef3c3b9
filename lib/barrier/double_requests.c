/* What a member of a double barrier asks of the server. */
#include <string.h>

#include "double.h"
#include "lib/base/error.h"
#include "lib/base/layout.h"
#include "lib/session/parents.h"

static void answer(zkl_double_barrier *b, uint32_t tag, enum barrier_event_kind kind)
{
    double_step(b, (struct barrier_event){.kind = kind, .tag = tag});
}

static void refuse(zkl_double_barrier *b, uint32_t tag, int code)
{
    const char *path = session_path(b->spec.session, b->spec.path);

    if (tag == b->machine.tag)
        error_fill(&b->error, code, path, "%s: %s", path, zkl_strerror(code));
    answer(b, tag, BARRIER_EV_REFUSED);
}

static struct request *request_for(zkl_double_barrier *b, enum store_kind kind, const char *path,
                                   void (*done)(struct request *r, const struct store_reply *reply),
                                   uint32_t tag)
{
    struct request *r = request_new(kind, g_strdup(path), done, b);

    double_ref(b);
    r->tag = tag;
    return r;
}

static bool is_present(const zkl_double_barrier *b, const struct request *r)
{
    return r->tag == b->machine.tag;
}

/* With a watch; or the machine hears that there are too many. */
static void send_watching(zkl_double_barrier *b, struct request *r, struct subscription *watch)
{
    uint32_t tag = r->tag;

    if (watch_add(b->spec.session, r, watch)) {
        request_send(b->spec.session, r);
        return;
    }
    request_free(r);
    refuse(b, tag, ZKL_ELIMIT);
    double_unref(b);
}

/* ---- the own node ---- */

static void ask_create(zkl_double_barrier *b, uint32_t tag);

static void on_own_read(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc == STORE_OK)
        double_step(b, (struct barrier_event){
                           .kind = BARRIER_EV_JOINED, .tag = r->tag, .zxid = reply->czxid});
    else if (reply->rc == STORE_NONODE && is_present(b, r))
        ask_create(b, r->tag);
    else if (reply->rc != STORE_GONE)
        refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

struct parents_wish {
    zkl_double_barrier *barrier;
    uint32_t tag;
};

static void on_parents(void *context, enum store_rc rc)
{
    struct parents_wish *wish = context;
    zkl_double_barrier *b = wish->barrier;

    if (rc == STORE_OK && wish->tag == b->machine.tag)
        ask_create(b, wish->tag);
    else if (rc != STORE_GONE)
        refuse(b, wish->tag, call_error(rc));
    double_unref(b);
    g_free(wish);
}

static void ask_parents(zkl_double_barrier *b, uint32_t tag)
{
    struct parents_wish *wish = g_new(struct parents_wish, 1);

    *wish = (struct parents_wish){b, tag};
    double_ref(b);
    parents_make(b->spec.session, b->node, b->spec.parents, on_parents, wish);
}

/* One that was sent twice finds what it made itself: nobody else has that name. */
static void on_created(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    /* When its session ends: may there have been a node? */
    b->sent = reply->rc == STORE_EXISTS || (reply->rc == STORE_GONE && r->sent.boot != 0);
    if (reply->rc == STORE_OK)
        double_step(b, (struct barrier_event){
                           .kind = BARRIER_EV_JOINED, .tag = r->tag, .zxid = reply->czxid});
    else if (reply->rc == STORE_EXISTS && is_present(b, r))
        request_send(b->spec.session, request_for(b, STORE_STAT, b->node, on_own_read, r->tag));
    else if (reply->rc == STORE_NONODE && is_present(b, r))
        ask_parents(b, r->tag);
    else if (reply->rc != STORE_GONE)
        refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

static void ask_create(zkl_double_barrier *b, uint32_t tag)
{
    struct request *r = request_for(b, STORE_CREATE, b->node, on_created, tag);

    r->what.mode = STORE_EPHEMERAL;
    r->what.data = g_strdup(b->spec.name);
    r->what.length = (int)strlen(b->spec.name);
    request_send(b->spec.session, r);
}

static void ask_join(zkl_double_barrier *b, uint32_t tag)
{
    g_free(b->own_name);
    b->own_name = layout_new_id(STYLE_GUARDED, false);
    g_free(b->node);
    b->node = g_strconcat(b->spec.path, "/", b->own_name, NULL);
    b->sent = false;
    ask_create(b, tag);
}

static void on_quit(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE)
        request_delete(b->spec.session, g_strdup(b->node)); /* logged, and tried again and again */
    if (reply->rc != STORE_GONE)
        answer(b, r->tag, BARRIER_EV_QUIT);
    double_unref(b);
}

static void ask_delete(zkl_double_barrier *b, uint32_t tag)
{
    request_send(b->spec.session, request_for(b, STORE_DELETE, b->node, on_quit, tag));
}

static struct request *transaction(zkl_double_barrier *b,
                                   void (*done)(struct request *r, const struct store_reply *reply),
                                   uint32_t tag)
{
    struct request *r = request_for(b, STORE_MULTI, b->spec.path, done, tag);

    r->what.changes = b->changes;
    r->what.count = G_N_ELEMENTS(b->changes);
    return r;
}

/* Refused as a whole, where another has removed ready: then the own node alone. */
static void on_quit_last(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc == STORE_OK)
        answer(b, r->tag, BARRIER_EV_QUIT);
    else if (reply->rc != STORE_GONE && is_present(b, r))
        ask_delete(b, r->tag);
    double_unref(b);
}

static void ask_quit(zkl_double_barrier *b, const struct barrier_action *a)
{
    if (!a->last) {
        ask_delete(b, a->tag);
        return;
    }
    b->changes[0] =
        (struct store_change){.kind = STORE_DELETE, .path = b->node, .length = -1, .version = -1};
    b->changes[1] =
        (struct store_change){.kind = STORE_DELETE, .path = b->ready, .length = -1, .version = -1};
    request_send(b->spec.session, transaction(b, on_quit_last, a->tag));
}

/* ---- ready ---- */

static void looked(zkl_double_barrier *b, const struct request *r, const struct store_reply *reply)
{
    struct barrier_event ev = {.kind = BARRIER_EV_LOOKED, .tag = r->tag, .version = b->version};

    if (reply->rc == STORE_OK) {
        ev.zxid = reply->mzxid;
        ev.bound = barrier_bound_read(reply->data, (size_t)MAX(reply->length, 0));
    }
    double_step(b, ev);
}

static void on_ready_read(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc == STORE_OK || reply->rc == STORE_NONODE)
        looked(b, r, reply);
    else if (reply->rc != STORE_GONE)
        refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

static void on_ready(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    watch_answered(b->spec.session, r, reply, &b->ready_watch);
    if (reply->rc == STORE_NONODE)
        looked(b, r, reply);
    else if (reply->rc == STORE_OK && is_present(b, r))
        request_send(b->spec.session, request_for(b, STORE_GET, b->ready, on_ready_read, r->tag));
    else if (reply->rc != STORE_GONE)
        refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

/* Read before ready is: its version changes with each opening. */
static void on_directory(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (is_present(b, r) && reply->rc == STORE_OK) {
        b->version = reply->version;
        b->length = reply->length;
        g_free(b->data);
        b->data = g_memdup2(reply->data, (gsize)MAX(reply->length, 0));
    } else if (reply->rc != STORE_OK && reply->rc != STORE_GONE) {
        refuse(b, r->tag, call_error(reply->rc));
    }
    double_unref(b);
}

static void ask_look(zkl_double_barrier *b, uint32_t tag)
{
    request_send(b->spec.session, request_for(b, STORE_GET, b->spec.path, on_directory, tag));
    send_watching(b, request_for(b, STORE_STAT, b->ready, on_ready, tag), &b->ready_watch);
}

static void on_opened(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    if (reply->rc == STORE_OK)
        answer(b, r->tag, BARRIER_EV_OPENED);
    else if (reply->rc == STORE_BADVERSION || reply->rc == STORE_EXISTS ||
             reply->rc == STORE_NONODE)
        answer(b, r->tag, BARRIER_EV_OVERTAKEN);
    else if (reply->rc != STORE_GONE)
        refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

/* One that was sent twice is overtaken by itself. */
static void ask_open(zkl_double_barrier *b, const struct barrier_action *a)
{
    g_free(b->text);
    b->text = g_strdup_printf(BARRIER_WORDS "%" G_GUINT64_FORMAT, a->bound);
    b->changes[0] = (struct store_change){.kind = STORE_SET,
                                          .path = b->spec.path,
                                          .data = b->data,
                                          .length = b->length,
                                          .version = a->version};
    b->changes[1] = (struct store_change){.kind = a->replace ? STORE_SET : STORE_CREATE,
                                          .path = b->ready,
                                          .data = b->text,
                                          .length = (int)strlen(b->text),
                                          .version = -1};
    request_send(b->spec.session, transaction(b, on_opened, a->tag));
}

/* ---- the members ---- */

static gint compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void counted(zkl_double_barrier *b, uint32_t tag)
{
    answer(b, tag, BARRIER_EV_COUNTED);
}

struct member_read {
    zkl_double_barrier *barrier;
    size_t place;
};

static void on_member(struct request *r, const struct store_reply *reply)
{
    struct member_read *read = r->context;
    zkl_double_barrier *b = read->barrier;

    if (is_present(b, r) && reply->rc == STORE_OK)
        g_array_index(b->czxids, uint64_t, read->place) = reply->czxid;
    if (reply->rc == STORE_NOAUTH || reply->rc == STORE_BAD)
        refuse(b, r->tag, call_error(reply->rc));
    else if (is_present(b, r) && reply->rc != STORE_GONE && --b->unread == 0)
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
        struct request *r = request_for(b, STORE_STAT, path, on_member, tag);
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
        refuse(b, r->tag, call_error(reply->rc));
    if (is_present(b, r) && (reply->rc == STORE_OK || reply->rc == STORE_NONODE)) {
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

static void member_gone(zkl_double_barrier *b, uint32_t tag)
{
    if (tag == b->machine.tag)
        g_array_index(b->czxids, uint64_t, b->awaited) = 0;
    answer(b, tag, BARRIER_EV_GONE);
}

static void on_awaited(struct request *r, const struct store_reply *reply)
{
    zkl_double_barrier *b = r->context;

    watch_answered(b->spec.session, r, reply, &b->member_watch);
    if (reply->rc == STORE_NONODE)
        member_gone(b, r->tag);
    else if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        refuse(b, r->tag, call_error(reply->rc));
    double_unref(b);
}

static void ask_member(zkl_double_barrier *b, uint32_t tag)
{
    char *path = g_strconcat(b->spec.path, "/", b->names->pdata[b->awaited], NULL);

    send_watching(b, request_for(b, STORE_GET, path, on_awaited, tag), &b->member_watch);
    g_free(path);
}

/* ---- watches ---- */

static void on_ready_fired(void *context, bool gone)
{
    (void)gone;
    double_step(context, (struct barrier_event){.kind = BARRIER_EV_FIRED});
}

static void on_member_fired(void *context, bool gone)
{
    zkl_double_barrier *b = context;

    if (gone)
        member_gone(b, b->machine.tag);
    else
        ask_member(b, b->machine.tag);
}

void double_ignore(zkl_double_barrier *b)
{
    watch_drop(&b->ready_watch, false);
    watch_drop(&b->member_watch, false);
}

void double_ask(zkl_double_barrier *b, const struct barrier_action *a)
{
    b->ready_watch.fired = on_ready_fired;
    b->member_watch.fired = on_member_fired;
    b->ready_watch.context = b->member_watch.context = b;
    switch (a->kind) {
    case BARRIER_ACT_JOIN:
        ask_join(b, a->tag);
        break;
    case BARRIER_ACT_LOOK:
        watch_drop(&b->member_watch, false);
        ask_look(b, a->tag);
        break;
    case BARRIER_ACT_COUNT:
        request_send(b->spec.session, request_for(b, STORE_LIST, b->spec.path, on_listed, a->tag));
        break;
    case BARRIER_ACT_OPEN:
        ask_open(b, a);
        break;
    case BARRIER_ACT_QUIT:
        ask_quit(b, a);
        break;
    default:
        b->awaited = a->member;
        ask_member(b, a->tag);
        break;
    }
}
