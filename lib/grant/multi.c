#include "multi.h"

#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/path.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "recipes/payload.h"

struct multi {
    struct call call;
    zkl_grant *grant;
    struct multi_line *line;
    struct store_change *changes; /* after the fence; the grant's other nodes come first */
    int count;
    GStringChunk *texts; /* what changes point to */
    bool release;
    bool begun;
    GList link;
};

/* ---- what is asked for ---- */

enum {
    BYTES_MAX = 1000000, /* a server takes 1 MiB in one packet, and else drops the connection */
    BYTES_EACH = 64,     /* of a change, besides its path and data */
    ACL_BYTES_EACH = 3   /* of a character of the ACL's text, at most */
};

static bool multi_is_own_node(const zkl_grant *g, const char *path)
{
    for (uint32_t i = 0; i < grant_count(g); i++) {
        if (strcmp(path, grant_node(g, i)) == 0)
            return true;
    }
    return false;
}

static const char *multi_check_change(const zkl_change *c, const zkl_grant *g)
{
    const char *wrong = path_check(c->path);

    if (wrong)
        return wrong;
    if (multi_is_own_node(g, c->path))
        return "the grant's own node cannot be changed";
    if (c->kind < ZKL_CHANGE_CREATE || c->kind > ZKL_CHANGE_CHECK)
        return "kind is none of zkl_change_kind";
    if (c->size > 0 && !c->data)
        return "data is NULL and size is not 0";
    return NULL;
}

/* What the nodes besides the first take. */
static size_t multi_bytes_of_fence(const zkl_grant *g)
{
    size_t bytes = 0;

    for (uint32_t i = 1; i < grant_count(g); i++)
        bytes += 2 * (strlen(grant_tenure(g, i)->full_node) + BYTES_EACH);
    return bytes;
}

static int multi_check(const zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags)
{
    size_t bytes;

    if (!g || (count > 0 && !changes) || (flags & ~ZKL_MULTI_RELEASE))
        return error_set(ZKL_EINVAL, NULL,
                         "zkl_grant_multi: g or changes is NULL, or a flag is unknown");
    if (grant_is_child(g))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    if (!grant_tenure(g, 0)->payload)
        return error_set(ZKL_EINVAL, zkl_grant_node(g), "a membership has no transactions");
    const zkl_session *s = grant_session(g);
    const size_t chroot = strlen(s->chroot), acl = strlen(s->acl ? s->acl : "");
    bytes = multi_bytes_of_fence(g);
    for (size_t i = 0; i < count; i++) {
        const char *wrong = multi_check_change(&changes[i], g);
        if (wrong)
            return error_set(ZKL_EINVAL, changes[i].path, "change %zu, \"%.100s\": %s", i,
                             changes[i].path ? changes[i].path : "", wrong);
        bytes += chroot + strlen(changes[i].path) + MIN(changes[i].size, BYTES_MAX) + BYTES_EACH;
        if (changes[i].kind == ZKL_CHANGE_CREATE)
            bytes += acl * ACL_BYTES_EACH;
        if (bytes > BYTES_MAX)
            return error_set(ZKL_ELIMIT, changes[i].path, "more than %d bytes in one transaction",
                             BYTES_MAX);
    }
    return 0;
}

/* The session's chroot goes before the user's paths; our own are full. */
static void multi_add(struct multi *m, enum store_kind kind, const char *chroot, const char *path)
{
    char *full = g_strconcat(chroot, path, NULL);

    m->changes[m->count++] = (struct store_change){
        .kind = kind, .path = g_string_chunk_insert(m->texts, full), .length = -1, .version = -1};
    g_free(full);
}

static void multi_set_data(struct multi *m, const void *data, size_t size)
{
    struct store_change *c = &m->changes[m->count - 1];

    if (!data)
        return;
    c->data = g_string_chunk_insert_len(m->texts, data, (gssize)size);
    c->length = (int)size;
}

static void multi_add_users(struct multi *m, const zkl_change *c)
{
    static const enum store_kind kinds[] = {
        [ZKL_CHANGE_CREATE] = STORE_CREATE,
        [ZKL_CHANGE_SET] = STORE_SET,
        [ZKL_CHANGE_DELETE] = STORE_DELETE,
        [ZKL_CHANGE_CHECK] = STORE_GET,
    };

    multi_add(m, kinds[c->kind], grant_session(m->grant)->chroot, c->path);
    m->changes[m->count - 1].version = c->version;
    if (c->kind == ZKL_CHANGE_CREATE || c->kind == ZKL_CHANGE_SET)
        multi_set_data(m, c->data, c->size);
}

static struct multi *multi_new(const zkl_grant *g, const zkl_change *changes, size_t count,
                               bool release)
{
    struct multi *m = g_new0(struct multi, 1);

    m->grant = grant_ref(grant_of(g));
    m->changes = g_new0(struct store_change, count + 2 * (size_t)grant_count(g));
    m->texts = g_string_chunk_new(1024);
    m->release = release;
    m->link.data = m;
    for (uint32_t i = 1; i < grant_count(g); i++)
        multi_add(m, STORE_GET, "", grant_tenure(g, i)->full_node);
    for (size_t i = 0; i < count; i++)
        multi_add_users(m, &changes[i]);
    for (uint32_t i = 0; release && i < grant_count(g); i++)
        multi_add(m, STORE_DELETE, "", grant_tenure(g, i)->full_node);
    return m;
}

/* ---- the driver's table ---- */

/* NULL: there is none. */
static struct multi *multi_first(const struct multi_line *line)
{
    return g_queue_peek_head((GQueue *)(uintptr_t)&line->waiting);
}

/* If the connection has answered something, the first sending goes by that one alone. */
static void multi_line_begin(struct multi_line *line)
{
    const zkl_session *s = line->driver.session;
    const bool confirmed = s->up && s->confirmed == s->connection;

    driver_hear_event(&line->driver,
                      (struct machine_event){.kind = MACHINE_EV_BEGIN,
                                             .connection = confirmed ? s->connection : 0});
}

/* The number of the transaction of ours that has written these data into the node; 0: none has.
 * Another client may have asked the holder to give way: then its word stands in place of the
 * payload. */
static uint32_t multi_number_in(struct multi_line *line, const struct machine_event *ev)
{
    const char *payload = line->tenure->payload, *data = ev->data ? ev->data : "";
    const struct payload p = payload_read(data, ev->length);

    line->asked = payload_asks(data, ev->length, ev->version);
    const bool ours =
        p.with_numbers == strlen(payload) && memcmp(data, payload, p.with_numbers) == 0;
    return ours || line->asked ? p.transaction : 0;
}

/* Returns the tenure whose node the server did not find, if that is not the grant's first one: then
 * the grant is lost. Otherwise NULL. */
static struct tenure *multi_missing_part(const struct multi *m, enum store_rc rc, int failed)
{
    const bool of_part = failed > 0 && (uint32_t)failed < grant_count(m->grant);

    return rc == STORE_NONODE && of_part ? grant_tenure(m->grant, (uint32_t)failed) : NULL;
}

/* The grant is lost at once, even where an earlier sending is still in doubt. */
static void multi_lose_missing(const struct multi *m, const struct machine_event *ev)
{
    struct tenure *missing = multi_missing_part(m, ev->rc, ev->failed);

    if (missing)
        tenure_node_gone(missing);
}

static void multi_step(struct driver *d, const struct machine_event *ev,
                       struct machine_actions *out)
{
    struct multi_line *line = DRIVER_OWNER(d, struct multi_line);
    struct multi *m = multi_first(line);

    m->begun |= ev->kind == MACHINE_EV_BEGIN;
    multi_lose_missing(m, ev);
    const bool read = ev->kind == MACHINE_EV_ANSWER && ev->verb == STORE_GET && ev->rc == STORE_OK;
    const struct transaction_moment now = {.lost =
                                               !m->release && zkl_grant_state(m->grant) == ZKL_LOST,
                                           .number = read ? multi_number_in(line, ev) : 0,
                                           .release = m->release,
                                           .told = m->call.told};
    transaction_step(&line->machine, ev, &now, out);
}

static char *multi_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(DRIVER_OWNER(d, struct multi_line)->tenure->full_node);
}

/* The data of the own node: payload, numbers, line. If somebody has asked the holder to give way,
 * that word stays in place of the payload. Only a read shows that word, and a set asks for the
 * version of another client's data only after a read of them. */
static char *multi_data(struct driver *d, unsigned node, int *ret_length)
{
    const struct multi_line *line = DRIVER_OWNER(d, struct multi_line);
    const char *payload = line->tenure->payload;
    const uint32_t number = transaction_written(&line->machine);
    const struct payload p = payload_read(payload, strlen(payload));
    char *text;

    (void)node;
    if (line->asked)
        text = g_strdup_printf(REVOKE_WORD "%.*s" TRANSACTION_WORDS "%u",
                               (int)(p.with_numbers - p.length), payload + p.length, number);
    else
        text = g_strdup_printf("%s" TRANSACTION_WORDS "%u", payload, number);
    *ret_length = (int)strlen(text);
    return text;
}

static const struct store_change *multi_rest(struct driver *d, int *ret_count)
{
    const struct multi *m = multi_first(DRIVER_OWNER(d, struct multi_line));

    *ret_count = m->count;
    return m->changes;
}

static void multi_tell_refused(struct multi *m, enum store_rc rc, int failed)
{
    zkl_session *s = m->call.session;
    const int code = multi_missing_part(m, rc, failed) ? ZKL_ELOST : call_error(rc);
    const char *path = failed > 0 ? m->changes[failed - 1].path : m->call.path;
    zkl_error why;

    denial_fill(s, &why, code, session_path(s, path));
    call_tell_as(&m->call, &why);
}

static void multi_over(struct multi_line *line, struct multi *m, bool node_gone)
{
    g_queue_unlink(&line->waiting, &m->link);
    if (m->release || node_gone)
        grant_let_go(m->grant, node_gone);
    call_end(&m->call, 0, NULL);
    if (multi_first(line))
        multi_line_begin(line);
}

static void multi_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct multi_line *line = DRIVER_OWNER(d, struct multi_line);
    struct multi *m = multi_first(line);

    switch ((enum transaction_verdict)a->verdict) {
    case TX_TOLD_APPLIED:
        call_tell(&m->call, 0, NULL);
        break;
    case TX_TOLD_REFUSED:
        multi_tell_refused(m, a->rc, line->machine.failed);
        break;
    case TX_TOLD_LOST:
        call_tell(&m->call, d->session->closing ? ZKL_ECLOSED : ZKL_ELOST, NULL);
        break;
    case TX_TOLD_LATE:
        call_tell(&m->call, m->call.error.code, NULL);
        break;
    case TX_TOLD_UNKNOWN:
        call_tell(&m->call, ZKL_EUNKNOWN, NULL);
        break;
    case TX_ENDED:
    case TX_ENDED_GONE:
        multi_over(line, m, a->verdict == TX_ENDED_GONE);
        break;
    }
}

static void multi_hold(struct driver *d)
{
    tenure_ref(DRIVER_OWNER(d, struct multi_line)->tenure);
}

static void multi_let_go(struct driver *d)
{
    tenure_unref(DRIVER_OWNER(d, struct multi_line)->tenure);
}

static const struct driver_ops multi_driver = {.step = multi_step,
                                               .path = multi_path,
                                               .data = multi_data,
                                               .rest = multi_rest,
                                               .on_verdict = multi_on_verdict,
                                               .hold = multi_hold,
                                               .free = multi_let_go};

/* ---- the line ---- */

static void multi_line_free(struct multi_line *line)
{
    driver_clear(&line->driver);
    g_free(line);
}

static struct multi_line *multi_line_of(struct tenure *t)
{
    if (!t->line) {
        t->line = g_new0(struct multi_line, 1);
        t->free_line = multi_line_free;
        t->line->tenure = t;
        driver_init(&t->line->driver, &multi_driver, t->session, STORE_PERSISTENT);
    }
    return t->line;
}

void multi_go_on_from(struct tenure *t, int32_t version)
{
    multi_line_of(t)->machine.version = version;
}

bool multi_line_is_in_doubt(const struct multi_line *line)
{
    return line && (line->machine.loose || multi_first(line));
}

/* ---- the call ---- */

static struct multi *multi_called(struct call *c)
{
    return (struct multi *)c;
}

/* Under the monitor: 0, or why it cannot begin. */
static int multi_enter(struct call *c)
{
    struct multi *m = multi_called(c);
    const zkl_state state = zkl_grant_state(m->grant);
    int code = 0;

    m->line = multi_line_of(grant_tenure(m->grant, 0));
    if (c->session->closing)
        code = ZKL_ECLOSED;
    else if (m->line->machine.version == INT32_MAX)
        code = ZKL_ELIMIT; /* the next one could mean any version */
    else if (state >= ZKL_LOST || (m->release && !grant_disown(m->grant)))
        code = state == ZKL_RELEASED ? ZKL_EPERM : ZKL_ELOST;
    if (code == 0)
        return 0;
    return error_set(code, zkl_grant_node(m->grant), "%s: %s", zkl_grant_node(m->grant),
                     zkl_strerror(code));
}

static void multi_begin(struct call *c)
{
    struct multi *m = multi_called(c);

    g_queue_push_tail_link(&m->line->waiting, &m->link);
    if (multi_first(m->line) == m)
        multi_line_begin(m->line);
}

/* A caller whose time has passed is told so, but its transaction keeps its place: what it has sent
 * may be applied, and the node that it gives back has to go. */
static void multi_stop(struct call *c, const zkl_error *why)
{
    struct multi *m = multi_called(c);
    const bool over = c->session->closing || c->session->refused;

    if (!m->begun) {
        call_tell(c, why->code, NULL);
        return;
    }
    if (!c->told)
        c->error = *why;
    driver_hear(&m->line->driver, over ? MACHINE_EV_OVER : MACHINE_EV_STOP);
}

/* The transaction has begun by then, as the one before it has ended by that. */
static void multi_replaced(struct call *c)
{
    driver_hear(&multi_called(c)->line->driver, MACHINE_EV_SESSION);
}

static void multi_free(struct call *c)
{
    struct multi *m = multi_called(c);

    g_string_chunk_free(m->texts);
    g_free(m->changes);
    grant_unref(m->grant);
    g_free(m);
}

static const struct call_ops multi_call = {.enter = multi_enter,
                                           .begin = multi_begin,
                                           .stop = multi_stop,
                                           .replaced = multi_replaced,
                                           .free = multi_free};

static int multi_run(const zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                     int64_t timeout_ms, zkl_multi_fn fn, void *data)
{
    const int code = multi_check(g, changes, count, flags);

    if (code)
        return code;
    struct multi *m = multi_new(g, changes, count, flags & ZKL_MULTI_RELEASE);
    call_init(&m->call, &multi_call, grant_session(g), g_strdup(grant_full_node(g)), fn, data);
    return call_run(&m->call, timeout_ms);
}

int zkl_grant_multi_async(const zkl_grant *g, const zkl_change *changes, size_t count,
                          unsigned flags, int64_t timeout_ms, zkl_multi_fn fn, void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_multi_async: fn is NULL");
    return multi_run(g, changes, count, flags, timeout_ms, fn, data);
}

int zkl_grant_multi(const zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                    int64_t timeout_ms)
{
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_grant_multi: called in a callback");
    return multi_run(g, changes, count, flags, timeout_ms, NULL, NULL);
}
