/* Contenders as text: a table for people, objects for programs. What others wrote decides nothing
 * here, and drives no terminal. */
#include "contenders.h"
#include "identity.h"
#include "json.h"
#include "table.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

/* ---- what is known of one ---- */

const char *contender_kind(const zkl_contender *c)
{
    static const char *const names[] = {
        [ZKL_KIND_LOCK] = "lock",   [ZKL_KIND_LATCH] = "latch", [ZKL_KIND_APACHE] = "lock",
        [ZKL_KIND_RUBY] = "lock",   [ZKL_KIND_READ] = "read",   [ZKL_KIND_WRITE] = "write",
        [ZKL_KIND_LEASE] = "lease",
    };

    if (c->kind == ZKL_KIND_RUBY && c->node[0] == 's')
        return "read"; /* zk-ruby's shared ones: "sh0000000000" */
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

/* Java adds the interface: "fe80:0:0:0:0:0:0:1%eth0". */
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

/* Without what zkl writes behind a name. */
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

static struct table *heads(bool narrow)
{
    static const char *const all[] = {"STATE", "TOKEN",   "AGE",   "KIND", "CLIENT",
                                      "HOST",  "SESSION", "OWNER", "NODE"},
                             *const few[] = {"STATE",  "TOKEN", "AGE",   "KIND",
                                             "CLIENT", "HOST",  "OWNER", "NODE"};
    const unsigned right = 1u << 1 | 1u << 2; /* numbers line up at their end */

    return narrow ? table_new(few, G_N_ELEMENTS(few), right)
                  : table_new(all, G_N_ELEMENTS(all), right);
}

static void table_contender(struct table *t, const zkl_contender *c, size_t position, bool narrow)
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
    struct table *t = heads(narrow);

    for (size_t i = 0; i < most && i < zkl_queue_count(q); i++)
        table_contender(t, zkl_queue_get(q, i), i, narrow);
    return table_end(t);
}

void contender_print(const zkl_contender *c, size_t position)
{
    struct table *t = heads(false);

    table_contender(t, c, position, false);
    print_text(table_end(t));
}

void contenders_print_some(const zkl_queue *q)
{
    struct table *t = heads(false);

    for (size_t i = 0; i < zkl_queue_count(q); i++)
        table_contender(t, zkl_queue_get(q, i), CONTENDER_SOMEWHERE, false);
    print_text(table_end(t));
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
