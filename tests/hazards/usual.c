/* The usual designs: a cache server's SET NX, and the ZooKeeper recipe as written by hand. */
#include "hazard.h"

#include <string.h>

void kv_pass(struct kv *kv, int64_t ms)
{
    kv->now_ms += ms;
    if (kv->now_ms >= kv->until_ms)
        kv_delete(kv);
}

bool kv_set_if_absent(struct kv *kv, const char *owner, int64_t expiry_ms)
{
    if (kv->owner[0])
        return false;
    g_strlcpy(kv->owner, owner, sizeof kv->owner);
    kv->until_ms = expiry_ms == KV_FOR_EVER ? KV_FOR_EVER : kv->now_ms + expiry_ms;
    return true;
}

void kv_delete(struct kv *kv)
{
    kv->owner[0] = '\0';
    kv->until_ms = KV_FOR_EVER;
}

const char *kv_owner(struct kv *kv)
{
    return kv->owner;
}

void kv_restart(struct kv *kv)
{
    kv_delete(kv);
}

/* ---- ZooKeeper by hand ---- */

void usual_make(const char *path)
{
    char *parent = g_path_get_dirname(path);
    int rc = raw_create(fault.direct, path, NULL, -1, 0, NULL);

    if (rc == ZNONODE) {
        usual_make(parent);
        rc = raw_create(fault.direct, path, NULL, -1, 0, NULL);
    }
    CHECK(rc == ZOK || rc == ZNODEEXISTS);
    g_free(parent);
}

struct raw *usual_open(const char *connect, int timeout_ms)
{
    struct raw *r = raw_open_timeout(connect, timeout_ms);

    REQUIRE(r != NULL);
    usual_make(fault.path);
    return r;
}

void usual_enter(struct raw *r, char node[RAW_PATH_SIZE])
{
    char *path = g_strdup_printf("%s/lock-", fault.path);

    CHECK_INT(raw_create(r, path, NULL, -1, ZOO_EPHEMERAL | ZOO_SEQUENCE, node), ZOK);
    g_free(path);
}

bool usual_is_first(struct raw *r, const char *node)
{
    char **names = raw_children(r, fault.path);
    bool first = names && names[0] && strcmp(names[0], strrchr(node, '/') + 1) == 0;

    g_strfreev(names);
    return first;
}

int64_t usual_granted(struct raw *r, const char *node)
{
    EVENTUALLY(usual_is_first(r, node));
    return fault_boot_ns();
}
