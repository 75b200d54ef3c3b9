/* Contenders as text: a table for people, objects for programs. What others wrote decides nothing
 * here, and drives no terminal. */
#include "contenders.h"
#include "json.h"
#include "table.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- who a contender is, by its node's data ---- */

/* The library takes no name that is longer. */
#define NAME_MAX_BYTES 1024

/* A name in a sentence is cut to this many columns. */
#define NAME_COLUMNS 32

/* Reads "HOST pid N" at the beginning of text; *ret_end is what follows. Returns false if text
 * begins with something else. */
static bool read_process(const char *text, struct identity *ret, const char **ret_end)
{
    const size_t length = strcspn(text, " ");
    unsigned long long pid;
    int end = 0;

    if (length == 0 || sscanf(text + length, " pid %18llu%n", &pid, &end) != 1 || pid == 0)
        return false;
    ret->host = text;
    ret->host_length = length;
    ret->pid = (int64_t)pid;
    *ret_end = text + length + end;
    return true;
}

/* Whether text is " thread M", or empty. */
static bool is_thread(const char *text)
{
    unsigned long long thread;
    int end = 0;

    return !*text ||
           (sscanf(text, " thread %20llu%n", &thread, &end) == 1 && text[(size_t)end] == '\0');
}

/* Believes "HOST pid N thread M" of any node, because a user gives no such name. Believes "HOST pid
 * N" and "NAME (HOST pid N)" only of nodes that zkl has made. */
struct identity identity_of(const zkl_contender *c)
{
    const struct identity plain = {.name = c->owner, .name_length = strlen(c->owner)};
    const bool ours = c->client == ZKL_CLIENT_ZKL;
    const char *open = ours ? g_strrstr(c->owner, " (") : NULL;
    struct identity i = plain;
    const char *end;

    if (read_process(c->owner, &i, &end) && is_thread(end) && (ours || *end))
        return i;
    i = plain;
    if (!open || open == c->owner || !read_process(open + 2, &i, &end) || strcmp(end, ")") != 0)
        return plain;
    i.name_length = (size_t)(open - c->owner);
    return i;
}

char *identity_text(const char *name)
{
    g_autofree char *text =
        name ? g_strdup_printf("%s (%s pid %d)", name, g_get_host_name(), (int)getpid()) : NULL;

    return text && strlen(text) > NAME_MAX_BYTES ? g_strdup(name) : g_steal_pointer(&text);
}

/* Returns the age of the contender's node. The server's clock gave its beginning and ours gives the
 * present, so the age may be a little wrong. */
static int64_t identity_age_ms(const zkl_contender *c)
{
    const int64_t age = g_get_real_time() / 1000 - c->ctime_ms;

    return age > 0 ? age : 0;
}

/* Appends an age with its largest unit, as "3 min". */
static void append_age_in_words(GString *out, int64_t ms)
{
    const int64_t s = ms / 1000;

    if (s < 60)
        g_string_append_printf(out, "%" PRId64 " s", s);
    else if (s < 3600)
        g_string_append_printf(out, "%" PRId64 " min", s / 60);
    else if (s < 48 * 3600)
        g_string_append_printf(out, "%" PRId64 " h", s / 3600);
    else
        g_string_append_printf(out, "%" PRId64 " days", s / 86400);
}

/* Appends the first length bytes of text, made visible and cut. */
static void append_name(GString *out, const char *text, size_t length)
{
    g_autofree char *part = g_strndup(text, length);
    g_autoptr(GString) visible = g_string_new(NULL);

    append_visible(visible, part);
    append_fitting(out, visible->str, NAME_COLUMNS);
}

char *identity_sentence(const zkl_contender *c)
{
    const struct identity i = identity_of(c);
    GString *text = g_string_new(NULL);
    /* With a host, .name is all of the payload, or the NAME before the host. */
    const bool named = i.host && i.name_length < strlen(c->owner);

    if (named || (!i.host && i.name_length > 0))
        append_name(text, i.name, i.name_length);
    else if (!i.host)
        g_string_append(text, "somebody");
    if (named)
        g_string_append(text, " on ");
    if (i.host)
        append_name(text, i.host, i.host_length);
    g_string_append(text, " (");
    if (i.pid > 0)
        g_string_append_printf(text, "pid %" PRId64 ", ", i.pid);
    g_string_append(text, "for ");
    append_age_in_words(text, identity_age_ms(c));
    g_string_append_c(text, ')');
    return g_string_free(text, FALSE);
}

/* ---- what is known of a contender ---- */

const char *contender_kind(const zkl_contender *c)
{
    static const char *const names[] = {
        [ZKL_KIND_LOCK] = "lock",   [ZKL_KIND_LATCH] = "latch", [ZKL_KIND_APACHE] = "lock",
        [ZKL_KIND_RUBY] = "lock",   [ZKL_KIND_READ] = "read",   [ZKL_KIND_WRITE] = "write",
        [ZKL_KIND_LEASE] = "lease", [ZKL_KIND_LATER] = "later",
    };

    if (c->kind == ZKL_KIND_RUBY && c->node[0] == 's')
        return "read"; /* zk-ruby calls its shared nodes "sh0000000000" */
    return (size_t)c->kind < G_N_ELEMENTS(names) && names[c->kind] ? names[c->kind] : "?";
}

const char *contender_client(const zkl_contender *c)
{
    static const char *const names[] = {
        [ZKL_CLIENT_ZKL] = "zkl",  [ZKL_CLIENT_CURATOR] = "curator", [ZKL_CLIENT_KAZOO] = "kazoo",
        [ZKL_CLIENT_GO] = "go-zk", [ZKL_CLIENT_APACHE] = "apache",   [ZKL_CLIENT_RUBY] = "zk-ruby",
    };

    return (size_t)c->client < G_N_ELEMENTS(names) ? names[c->client] : NULL;
}

/* Whether text is an IP address. Java adds the interface: "fe80:0:0:0:0:0:0:1%eth0". */
static bool is_address(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];
    char plain[INET6_ADDRSTRLEN];
    const size_t length = strcspn(text, "%");

    if (length >= sizeof plain || strlen(text) >= 2 * sizeof plain ||
        text[length + strspn(text + length, "%" G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_.-")])
        return false;
    memcpy(plain, text, length);
    plain[length] = '\0';
    return inet_pton(AF_INET, plain, address) == 1 || inet_pton(AF_INET6, plain, address) == 1;
}

char *contender_host(const zkl_contender *c)
{
    const struct identity i = identity_of(c);

    if (i.host)
        return g_strndup(i.host, i.host_length);
    return is_address(c->owner) ? g_strdup(c->owner) : NULL;
}

/* Returns the owner's name, without what zkl writes after it. */
static char *name_of(const zkl_contender *c)
{
    const struct identity i = identity_of(c);

    return g_strndup(i.name, i.name_length);
}

bool contender_is_asked(const zkl_contender *c)
{
    return strcmp(c->owner, "__REVOKE__") == 0;
}

char *contender_owner(const zkl_contender *c)
{
    GString *text = g_string_new(NULL);
    g_autofree char *name = name_of(c);

    if (contender_is_asked(c))
        g_string_append(text, "(asked to revoke)");
    else if (name[0])
        append_visible(text, name);
    else
        g_string_append_c(text, '-');
    return g_string_free(text, FALSE);
}

/* Returns an age with its two largest units, as "3m07s". */
static char *age_text(int64_t ms)
{
    const int64_t s = ms / 1000;

    if (s < 60)
        return g_strdup_printf("%" PRId64 "s", s);
    if (s < 3600)
        return g_strdup_printf("%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    if (s < 86400)
        return g_strdup_printf("%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    return g_strdup_printf("%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
}

size_t contenders_holding(const zkl_queue *q)
{
    size_t n = 0;

    for (size_t i = 0; i < zkl_queue_count(q); i++)
        n += zkl_queue_get(q, i)->holds != 0;
    return n;
}

/* ---- as a table ---- */

static struct table *contenders_table_new(bool narrow)
{
    static const char *const all[] = {"STATE", "TOKEN",   "AGE",   "KIND", "CLIENT",
                                      "HOST",  "SESSION", "OWNER", "NODE"},
                             *const few[] = {"STATE",  "TOKEN", "AGE",   "KIND",
                                             "CLIENT", "HOST",  "OWNER", "NODE"};
    const unsigned right = 1u << 1 | 1u << 2; /* TOKEN and AGE are aligned to the right */

    return narrow ? table_new(few, G_N_ELEMENTS(few), right)
                  : table_new(all, G_N_ELEMENTS(all), right);
}

static void add_contender_row(struct table *t, const zkl_contender *c, size_t position, bool narrow)
{
    g_autofree char *age = age_text(identity_age_ms(c)), *host = contender_host(c),
                    *owner = contender_owner(c);
    const char *client = contender_client(c);

    if (c->holds)
        table_cell(t, c->retains ? "HOLDS (retains)" : "HOLDS");
    else if (position == CONTENDER_SOMEWHERE)
        table_cell(t, "waiting");
    else
        table_cell_printf(t, "waiting #%zu", position);
    table_cell_printf(t, "%" PRIu64, c->token);
    table_cell(t, age);
    table_cell(t, contender_kind(c));
    table_cell(t, client ? client : "?");
    table_cell(t, host ? host : "-");
    if (!narrow && c->session_id == 0)
        table_cell(t, "persistent");
    else if (!narrow)
        table_cell_printf(t, "0x%" PRIx64, (uint64_t)c->session_id);
    table_cell(t, owner);
    table_cell(t, c->node);
}

GString *contenders_table(const zkl_queue *q, size_t most, bool narrow)
{
    struct table *t = contenders_table_new(narrow);

    for (size_t i = 0; i < most && i < zkl_queue_count(q); i++)
        add_contender_row(t, zkl_queue_get(q, i), i, narrow);
    return table_end(t);
}

void contender_print(const zkl_contender *c, size_t position)
{
    struct table *t = contenders_table_new(false);

    add_contender_row(t, c, position, false);
    print_text(table_end(t));
}

void contenders_print_some(const zkl_queue *q)
{
    struct table *t = contenders_table_new(false);

    for (size_t i = 0; i < zkl_queue_count(q); i++)
        add_contender_row(t, zkl_queue_get(q, i), CONTENDER_SOMEWHERE, false);
    print_text(table_end(t));
}

void contenders_print_json(const zkl_queue *q)
{
    GString *out = g_string_new(NULL);

    contenders_json(out, q, "\n  ");
    g_string_append(out, zkl_queue_count(q) ? "\n]\n" : "]\n");
    print_text(out);
}

void contenders_print(const zkl_queue *q, const char *path)
{
    if (zkl_queue_count(q) == 0) {
        say("%s: no contenders", path);
        return;
    }
    print_text(contenders_table(q, SIZE_MAX, false));
}

/* ---- as JSON ---- */

static void json_string_or_null(GString *out, const char *key, const char *text)
{
    g_string_append_printf(out, ", \"%s\": ", key);
    if (text)
        json_string(out, text);
    else
        g_string_append(out, "null");
}

void contender_json(GString *out, const zkl_contender *c, size_t position)
{
    g_autofree char *host = contender_host(c), *name = name_of(c);
    const int64_t pid = identity_of(c).pid;

    g_string_append_printf(out, "{\"position\": %zu, \"state\": \"%s\", \"token\": %" PRIu64,
                           position, c->holds ? "holds" : "waiting", c->token);
    g_string_append_printf(out, ", \"age_ms\": %" PRId64 ", \"created_ms\": %" PRId64,
                           identity_age_ms(c), c->ctime_ms);
    json_string_or_null(out, "kind", contender_kind(c));
    json_string_or_null(out, "client", contender_client(c));
    json_string_or_null(out, "host", host);
    g_string_append_printf(out, ", \"session\": \"0x%" PRIx64 "\"", (uint64_t)c->session_id);
    json_string_or_null(out, "owner", name);
    json_string_or_null(out, "node", c->node);
    g_string_append_printf(out, ", \"number\": %" PRId64 ", \"retains\": %s, \"pid\": ", c->number,
                           c->retains ? "true" : "false");
    if (pid > 0)
        g_string_append_printf(out, "%" PRId64 "}", pid);
    else
        g_string_append(out, "null}");
}

void contenders_json(GString *out, const zkl_queue *q, const char *between)
{
    g_string_append_c(out, '[');
    for (size_t i = 0; i < zkl_queue_count(q); i++) {
        g_string_append(out, i > 0 ? "," : "");
        g_string_append(out, between);
        contender_json(out, zkl_queue_get(q, i), i);
    }
}

/* ---- reading ---- */

zkl_queue *contenders_first(zkl_session *session, const char *path, size_t most, int64_t timeout_ms)
{
    zkl_queue_options options = ZKL_QUEUE_OPTIONS_INIT;
    zkl_queue *queue = NULL;

    options.max_nodes = most;
    zkl_queue_read(&queue, session, path, &options, timeout_ms);
    return queue;
}

int contenders_read(zkl_queue **ret, zkl_session *session, const char *path, int64_t timeout_ms)
{
    if (zkl_queue_read(ret, session, path, NULL, timeout_ms) == 0)
        return STATUS_OK;
    if (zkl_last_error(NULL) == ZKL_ENOENT)
        return fail(STATUS_CONFLICT, "%s: no such path", path);
    return contenders_failed(path);
}

int contenders_failed(const char *path)
{
    if (zkl_last_error(NULL) == ZKL_ETIMEDOUT)
        return fail(STATUS_UNAVAILABLE, "%s: the servers did not answer in time", path);
    return fail_last(path);
}

/* ---- runs of zkl once ---- */

/* Returns a time in ms since 1970 by ISO 8601. */
static char *utc_text(int64_t ms)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(ms / 1000);

    return time ? g_date_time_format_iso8601(time) : g_strdup("never");
}

char *contenders_run_text(const zkl_once_run *run)
{
    g_autofree char *begun = utc_text(run->begun_ms), *due = utc_text(run->due_ms);
    g_autofree char *local = utc_text(run->local_ms);
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_printf(text, "run by %s at %s", run->name, begun);
    if (run->calendar) /* the clocks of its zone show that, so no Z follows */
        g_string_append_printf(text, " for %.16s of %s", local, run->calendar);
    if (run->due_ms != 0)
        g_string_append_printf(text, ", due again at %s", due);
    return g_strdup(text->str);
}

/* Appends a time; 0 becomes null. */
static void json_instant(GString *out, const char *key, int64_t ms)
{
    if (ms != 0)
        g_string_append_printf(out, ", \"%s\": %" PRId64, key, ms);
    else
        g_string_append_printf(out, ", \"%s\": null", key);
}

void contenders_run_json(GString *out, const zkl_once_run *run, const char *state)
{
    static const zkl_once_run none = {.name = NULL};
    const zkl_once_run *r = run ? run : &none;

    g_string_append_printf(out, "{\"state\": \"%s\", \"token\": %" PRIu64, state, r->token);
    json_instant(out, "begun_ms", r->begun_ms);
    json_instant(out, "due_ms", r->due_ms);
    json_string_or_null(out, "owner", r->name);
    json_string_or_null(out, "calendar", r->calendar);
    json_instant(out, "instant_ms", r->instant_ms);
    g_string_append_c(out, '}');
}
