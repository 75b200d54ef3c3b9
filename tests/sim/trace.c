#include "trace.h"

#include <stdarg.h>
#include <string.h>

enum { UUID_LENGTH = 36, HEX_LENGTH = 32 };

struct trace {
    FILE *live;
    bool chain;
    GString *text;
    GHashTable *nodes;    /* id -> short name */
    GHashTable *sessions; /* id -> short name */
};

struct trace *trace_new(FILE *live, bool chain)
{
    struct trace *t = g_new0(struct trace, 1);

    t->live = live;
    t->chain = chain;
    t->text = g_string_new(NULL);
    t->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    t->sessions = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    return t;
}

void trace_free(struct trace *t)
{
    if (!t)
        return;
    g_string_free(t->text, TRUE);
    g_hash_table_unref(t->nodes);
    g_hash_table_unref(t->sessions);
    g_free(t);
}

const char *trace_text(const struct trace *t)
{
    return t->text->str;
}

void trace_line(struct trace *t, int64_t now, const char *who, const char *format, ...)
{
    va_list args;

    if (!t)
        return;
    gsize from = t->text->len;
    g_string_append_printf(t->text, "%10.3f  %-7s ", (double)now / 1e6, who);
    va_start(args, format);
    g_string_append_vprintf(t->text, format, args);
    va_end(args);
    g_string_append_c(t->text, '\n');
    if (t->live) {
        /* Not fputs(): a step is told under the monitor, where the library itself must not call
         * that. */
        fwrite(t->text->str + from, 1, t->text->len - from, t->live);
        fflush(t->live);
    }
}

/* In the order in which they are first heard of. */
static const char *node_name(struct trace *t, const char *begin, gsize length)
{
    char *id = g_strndup(begin, length);
    const char *name = g_hash_table_lookup(t->nodes, id);

    if (name) {
        g_free(id);
        return name;
    }
    char *fresh = g_strdup_printf("n%u", g_hash_table_size(t->nodes) + 1);
    g_hash_table_insert(t->nodes, id, fresh);
    return fresh;
}

static const char *session_name(struct trace *t, int64_t session)
{
    const char *name = g_hash_table_lookup(t->sessions, &session);

    if (name)
        return name;
    char *fresh = g_strdup_printf("s%u", g_hash_table_size(t->sessions) + 1);
    g_hash_table_insert(t->sessions, g_memdup2(&session, sizeof session), fresh);
    return fresh;
}

/* "<id>__lock__0000000003" becomes "n1#3" as well. */
static void shorten_kazoo(struct trace *t, GString *text)
{
    const gsize word = strlen("__lock__");

    for (const char *at = text->str; (at = strstr(at, "__lock__"));) {
        gsize end = (gsize)(at - text->str), zeros = 0;
        at += word;
        if (end < HEX_LENGTH ||
            strspn(text->str + end - HEX_LENGTH, "0123456789abcdef") != HEX_LENGTH)
            continue;
        while (at[zeros] == '0' && g_ascii_isdigit(at[zeros + 1]))
            zeros++;
        char *name = g_strdup_printf("%s#", node_name(t, text->str + end - HEX_LENGTH, HEX_LENGTH));
        g_string_erase(text, (gssize)(end - HEX_LENGTH), (gssize)(HEX_LENGTH + word + zeros));
        g_string_insert(text, (gssize)(end - HEX_LENGTH), name);
        at = text->str + end - HEX_LENGTH + strlen(name);
        g_free(name);
    }
}

/* "_c_<id>-lock-0000000003" becomes "n1#3". */
char *trace_shorten(struct trace *t, const char *text)
{
    GString *out = g_string_new(NULL);
    const char *at;

    while ((at = strstr(text, "_c_")) && strnlen(at + 3, UUID_LENGTH) == UUID_LENGTH) {
        g_string_append_len(out, text, at - text);
        g_string_append_printf(out, "%s#", node_name(t, at + 3, UUID_LENGTH));
        text = at + 3 + UUID_LENGTH;
        if (g_str_has_prefix(text, "-latch-"))
            text += strlen("-latch-");
        else if (g_str_has_prefix(text, "-lock-"))
            text += strlen("-lock-");
        else
            continue;
        while (text[0] == '0' && g_ascii_isdigit(text[1]))
            text++;
    }
    g_string_append(out, text);
    shorten_kazoo(t, out);
    return g_string_free(out, FALSE);
}

/* ---- notes ---- */

static bool is_chain(const struct note *note)
{
    return (note->kind == NOTE_SENT || note->kind == NOTE_ANSWERED) && note->path &&
           g_str_has_prefix(note->path, "/zookeeper");
}

static void write_request(struct trace *t, int64_t now, const struct note *n, const char *path)
{
    const char *who = host_name(n->host), *what = request_name(n->request);

    if (n->kind == NOTE_SENT)
        trace_line(t, now, who, "sends %s %s (%u)", what, path, n->sequence);
    else
        trace_line(t, now, who, "answered %s %s (%u): %s", what, path, n->sequence, rc_name(n->rc));
}

static void write_node(struct trace *t, int64_t now, const struct note *n, const char *path)
{
    const char *owner = n->session ? session_name(t, n->session) : "nobody";

    if (n->kind == NOTE_CREATED)
        trace_line(t, now, "-", "%s is made, of %s, zxid %" G_GINT64_MODIFIER "x", path, owner,
                   n->zxid);
    else if (n->kind == NOTE_DELETED)
        trace_line(t, now, "-", "%s is gone, of %s: %s", path, owner, cause_name(n->cause));
    else
        trace_line(t, now, "-", "%s is changed", path);
}

static void write_session(struct trace *t, int64_t now, const struct note *n)
{
    const char *session = n->session ? session_name(t, n->session) : "";
    const char *who = n->host ? host_name(n->host) : "-";

    if (n->kind == NOTE_SESSION)
        trace_line(t, now, "-", "%s is a session of %s", session, who);
    else if (n->kind == NOTE_EXPIRING)
        trace_line(t, now, "-", "%s is expiring", session);
    else if (n->kind == NOTE_SESSION_END)
        trace_line(t, now, "-", "%s is over: %s", session, cause_name(n->cause));
    else
        trace_line(t, now, who, "%s%s%s", event_name(n->event), n->session ? ": " : "", session);
}

static void write_watch(struct trace *t, int64_t now, const struct note *n, const char *path)
{
    trace_line(t, now, "-", "server %d tells %s: %s %s", n->server, session_name(t, n->session),
               path, fired_name(n->fired));
}

void trace_note(struct trace *t, int64_t now, const struct note *note)
{
    if (!t || (!t->chain && is_chain(note)))
        return;
    char *path = trace_shorten(t, note->path ? note->path : "");
    switch (note->kind) {
    case NOTE_CREATED:
    case NOTE_DELETED:
    case NOTE_CHANGED:
        write_node(t, now, note, path);
        break;
    case NOTE_SESSION:
    case NOTE_EXPIRING:
    case NOTE_SESSION_END:
    case NOTE_EVENT:
        write_session(t, now, note);
        break;
    case NOTE_SENT:
    case NOTE_ANSWERED:
        write_request(t, now, note, path);
        break;
    case NOTE_WATCH:
        write_watch(t, now, note, path);
        break;
    case NOTE_RESTORED:
        trace_line(t, now, "-", "the servers' data goes back");
        break;
    case NOTE_LEADER:
        if (note->server < 0)
            trace_line(t, now, "-", "nobody leads");
        else
            trace_line(t, now, "-", "server %d leads", note->server);
        break;
    }
    g_free(path);
}

/* ---- names of what is counted off in enums ---- */

const char *request_name(enum store_kind kind)
{
    static const char *const names[] = {
        [STORE_CREATE] = "create", [STORE_DELETE] = "delete", [STORE_GET] = "get",
        [STORE_LIST] = "list",     [STORE_SYNC] = "sync",     [STORE_SET] = "set",
        [STORE_STAT] = "exists",   [STORE_MULTI] = "multi",   [STORE_UNWATCH] = "unwatch",
    };
    return names[kind];
}

const char *fired_name(enum store_fired fired)
{
    static const char *const names[] = {
        [STORE_FIRED_CHANGED] = "is changed",
        [STORE_FIRED_GONE] = "is gone",
        [STORE_FIRED_CHILDREN] = "has other children",
        [STORE_FIRED_CREATED] = "is made",
    };
    return names[fired];
}

const char *rc_name(enum store_rc rc)
{
    static const char *const names[] = {
        [STORE_OK] = "ok",
        [STORE_NONODE] = "no node",
        [STORE_EXISTS] = "exists",
        [STORE_BADVERSION] = "other version",
        [STORE_NOAUTH] = "refused",
        [STORE_NOCHILDREN] = "no children here",
        [STORE_NOTEMPTY] = "not empty",
        [STORE_BAD] = "bad",
        [STORE_UNIMPLEMENTED] = "unknown operation",
        [STORE_UNKNOWN] = "unknown",
        [STORE_GONE] = "session over",
    };
    return names[rc];
}

const char *cause_name(enum cause cause)
{
    static const char *const names[] = {
        [CAUSE_REQUEST] = "request", [CAUSE_EXPIRY] = "expired",      [CAUSE_CLOSE] = "closed",
        [CAUSE_FORCED] = "forced",   [CAUSE_ADMIN] = "administrator", [CAUSE_REAPED] = "reaped",
    };
    return names[cause];
}

const char *event_name(enum store_event event)
{
    static const char *const names[] = {
        [STORE_EV_UP] = "is connected",
        [STORE_EV_DOWN] = "is disconnected",
        [STORE_EV_EXPIRED] = "hears that it is expired",
        [STORE_EV_AUTH] = "is refused",
        [STORE_EV_BEGIN] = "asks for a session",
        [STORE_EV_HOST] = "knows no host",
        [STORE_EV_FOREIGN] = "meets no ZooKeeper",
        [STORE_EV_UNSERVED] = "meets no server",
        [STORE_EV_SERVED] = "meets a server",
        [STORE_EV_REFUSED] = "meets a server that has gone back",
    };
    return names[event];
}

const char *election_event_name(zkl_election_event event)
{
    static const char *const names[] = {
        [ZKL_ELECTION_LEADING] = "LEADING", [ZKL_ELECTION_SUSPECT] = "SUSPECT",
        [ZKL_ELECTION_HELD] = "HELD",       [ZKL_ELECTION_ASKED] = "ASKED",
        [ZKL_ELECTION_LOST] = "LOST",       [ZKL_ELECTION_RESIGNED] = "RESIGNED",
        [ZKL_ELECTION_FAILED] = "FAILED",   [ZKL_ELECTION_STOPPED] = "STOPPED",
    };
    return names[event];
}

const char *state_name(zkl_state state)
{
    static const char *const names[] = {
        [ZKL_HELD] = "HELD",
        [ZKL_SUSPECT] = "SUSPECT",
        [ZKL_LOST] = "LOST",
        [ZKL_RELEASED] = "RELEASED",
    };
    return names[state];
}
