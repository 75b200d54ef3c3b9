#include "server.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

/* A snapshot is: magic, version, database id; a list of sessions (id, timeout); a list of ACLs
 * (number, entries); nodes, each a path, data, ACL number and stat, up to the path "/"; then a
 * seal: the Adler32 of all before, and "/". Newer servers add a digest with a seal of its own, and
 * 3.9 then adds the zxid with another. */
enum {
    HEADER = 4 + 4 + 8,
    SESSION = 8 + 4,
    STAT = 8 + 8 + 8 + 8 + 4 + 4 + 4 + 8 + 8,
    CVERSION_AT = 8 + 8 + 8 + 8 + 4,
    SEAL = 8 + 4 + 1,
    DIGEST = 8 + 4 + 8,
    ZXID = 8
};

struct reader {
    uint8_t *data;
    size_t length, at;
    bool short_of_data;
};

static uint8_t *take(struct reader *r, size_t count)
{
    static uint8_t nothing[STAT];
    if (r->short_of_data || count > r->length - r->at) {
        r->short_of_data = true;
        return nothing;
    }
    r->at += count;
    return r->data + r->at - count;
}

static uint32_t get32(struct reader *r)
{
    uint32_t big;
    memcpy(&big, take(r, sizeof(big)), sizeof(big));
    return GUINT32_FROM_BE(big);
}

/* A length of -1 is a null. */
static size_t get_length(struct reader *r)
{
    uint32_t length = get32(r);
    return length == UINT32_MAX ? 0 : length;
}

static void skip_acls(struct reader *r)
{
    for (uint32_t lists = get32(r); lists > 0 && !r->short_of_data; lists--) {
        take(r, 8);
        for (size_t entries = get_length(r); entries > 0 && !r->short_of_data; entries--) {
            take(r, 4);
            take(r, get_length(r));
            take(r, get_length(r));
        }
    }
}

/* Leaves r behind the nodes, at the first seal. */
static uint8_t *find_stat(struct reader *r, const char *path)
{
    uint8_t *found = NULL;
    take(r, HEADER);
    for (uint32_t sessions = get32(r); sessions > 0 && !r->short_of_data; sessions--)
        take(r, SESSION);
    skip_acls(r);
    while (!r->short_of_data) {
        size_t length = get_length(r);
        const char *name = (const char *)take(r, length);
        if (r->short_of_data || (length == 1 && *name == '/'))
            break;
        take(r, get_length(r));
        take(r, 8);
        uint8_t *stat = take(r, STAT);
        if (!r->short_of_data && strlen(path) == length && memcmp(name, path, length) == 0)
            found = stat;
    }
    return r->short_of_data ? NULL : found;
}

static void seal(uint8_t *data, size_t at)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < at; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    uint64_t big = GUINT64_TO_BE((uint64_t)b << 16 | a);
    memcpy(data + at, &big, sizeof(big));
}

/* From the first of them on. False: something else is there. */
static bool seal_all(uint8_t *data, size_t at, size_t length)
{
    static const size_t before[] = {0, DIGEST, ZXID};

    for (size_t i = 0; i < G_N_ELEMENTS(before) && length - at >= before[i] + SEAL; i++) {
        seal(data, at + before[i]);
        at += before[i] + SEAL;
    }
    return at == length;
}

static bool patch(const char *file, const char *path, int32_t cversion)
{
    gchar *text;
    gsize length;
    if (!g_file_get_contents(file, &text, &length, NULL))
        return false;
    struct reader r = {.data = (uint8_t *)text, .length = length};
    uint8_t *stat = find_stat(&r, strcmp(path, "/") == 0 ? "" : path);
    bool ok = false;
    if (stat && length - r.at >= SEAL) {
        uint32_t big = GUINT32_TO_BE((uint32_t)cversion);
        memcpy(stat + CVERSION_AT, &big, sizeof(big));
        ok =
            seal_all(r.data, r.at, length) && g_file_set_contents(file, text, (gssize)length, NULL);
    } else {
        fprintf(stderr, "%s: no node %s in it\n", file, path);
    }
    g_free(text);
    return ok;
}

/* The one with the highest zxid, which its name ends with. */
static char *newest_snapshot(const char *dir)
{
    char *folder = g_strdup_printf("%s/data/version-2", dir);
    char *newest = NULL;
    guint64 highest = 0;
    GDir *entries = g_dir_open(folder, 0, NULL);
    for (const char *name; entries && (name = g_dir_read_name(entries));) {
        if (!g_str_has_prefix(name, "snapshot."))
            continue;
        guint64 zxid = g_ascii_strtoull(name + strlen("snapshot."), NULL, 16);
        if (newest && zxid < highest)
            continue;
        highest = zxid;
        g_free(newest);
        newest = g_strdup_printf("%s/%s", folder, name);
    }
    if (entries)
        g_dir_close(entries);
    g_free(folder);
    return newest;
}

bool zk_server_set_cversion(struct zk_server *s, const char *path, int32_t cversion)
{
    if (zk_server_nodes(s) != 1) {
        fputs("a cversion can be set in a single server only\n", stderr);
        return false;
    }
    /* A server that starts writes a snapshot of all that its log holds. What clients add to the log
     * after that is replayed on top of the patch, and never lowers a cversion. */
    if (!zk_server_restart(s, 0))
        return false;
    zk_server_halt(s, 0);
    char *snapshot = newest_snapshot(zk_server_dir(s, 0));
    bool ok = snapshot && patch(snapshot, path, cversion);
    g_free(snapshot);
    return zk_server_launch(s, 0) && zk_server_wait(s, 0) && ok;
}
