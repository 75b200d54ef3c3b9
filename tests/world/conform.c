/* What is around each case. */
#include "conform.h"

#include <string.h>

#include "conform_client.h"

const struct bench *bench;

static struct {
    GStringChunk *strings; /* NULL outside of cases */
    char *root;
} present;

int conform_init(void)
{
    return bench->init();
}

/* ---- requests ---- */

struct store_request req(enum store_kind kind, const char *path)
{
    return (struct store_request){.kind = kind, .path = path};
}

struct store_request req_create(const char *path, enum store_mode mode)
{
    return (struct store_request){.kind = STORE_CREATE, .path = path, .mode = mode};
}

struct store_request req_create_plain(const char *path, enum store_mode mode)
{
    struct store_request what = req_create(path, mode);

    what.plain = true;
    return what;
}

struct store_request req_watch(const char *path)
{
    return (struct store_request){.kind = STORE_GET, .path = path, .watch = true};
}

struct store_request req_watch_list(const char *path)
{
    return (struct store_request){.kind = STORE_LIST, .path = path, .watch = true};
}

struct store_request req_watch_stat(const char *path)
{
    return (struct store_request){.kind = STORE_STAT, .path = path, .watch = true};
}

struct store_request req_unwatch_list(const char *path)
{
    return (struct store_request){.kind = STORE_UNWATCH, .path = path, .of_list = true};
}

struct store_request req_set(const char *path, const char *data, int version)
{
    return (struct store_request){.kind = STORE_SET,
                                  .path = path,
                                  .data = data,
                                  .length = (int)strlen(data),
                                  .version = version};
}

struct store_request req_multi(const struct store_change *changes, int count)
{
    return (struct store_request){
        .kind = STORE_MULTI, .path = changes[0].path, .changes = changes, .count = count};
}

/* ---- a case ---- */

const char *at(const char *name)
{
    char *path = *name ? g_strdup_printf("%s/%s", present.root, name) : g_strdup(present.root);
    const char *kept = g_string_chunk_insert_const(present.strings, path);

    g_free(path);
    return kept;
}

/* Its clients may be left over from a case that ended by a failure. */
static void end_case(bool check)
{
    clients_end(check);
    bench->end();
    g_string_chunk_free(present.strings);
    g_free(present.root);
    present.strings = NULL;
}

static void begin_case(int servers, int round)
{
    if (present.strings)
        end_case(false);
    present.strings = g_string_chunk_new(1024);
    present.root = g_strdup_printf("/%s-%d", runner_current(), round);
    REQUIRE(bench->begin(servers, round));
    struct client *c = client_new();
    RC(c, req_create(at(""), STORE_PERSISTENT), STORE_OK);
    client_close(c);
}

void conform_case(int servers, void (*body)(void))
{
    for (int round = 0; round < bench->rounds; round++) {
        begin_case(servers, round);
        body();
        end_case(true);
    }
}

int conform_main(int argc, char **argv, const struct bench *on)
{
    bench = on;
    clients_init();
    return runner_main(argc, argv);
}
