/* zk-admin: what a ZooKeeper administrator would do by hand, for the command-line tests. Takes the
 * server from ZKL_CONNECT. */
#include "tests/support/raw.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report(const char *verb, const char *path, int rc)
{
    if (rc == ZOK)
        return 0;
    fprintf(stderr, "zk-admin: %s %s: %s\n", verb, path, zerror(rc));
    return 1;
}

/* DATA may have C escapes, so that a shell can write control characters. */
static int create(struct raw *r, const char *path, const char *data, int flags)
{
    char *bytes = g_strcompress(data);
    int rc = raw_create(r, path, bytes, (int)strlen(bytes), flags, NULL);

    g_free(bytes);
    return rc;
}

/* For everybody, only to look. */
static int close_off(struct raw *r, const char *path)
{
    char scheme[] = "world", id[] = "anyone";
    struct ACL entry = {ZOO_PERM_READ, {scheme, id}};
    const struct ACL_vector acl = {1, &entry};

    return raw_set_acl(r, path, &acl);
}

static int act(struct raw *r, int argc, char **argv)
{
    const char *verb = argv[1], *path = argv[2];

    if (strcmp(verb, "create") == 0 && argc == 4)
        return create(r, path, argv[3], 0);
    if (strcmp(verb, "sequence") == 0 && argc == 4)
        return create(r, path, argv[3], ZOO_SEQUENCE);
    if (strcmp(verb, "delete") == 0)
        return raw_delete(r, path);
    if (strcmp(verb, "readonly") == 0)
        return close_off(r, path);
    return ZBADARGUMENTS;
}

int main(int argc, char **argv)
{
    const char *connect = getenv("ZKL_CONNECT");
    struct raw *r;
    int status;

    if (argc < 3 || !connect) {
        fputs("usage: zk-admin create|sequence PATH DATA | delete|readonly PATH\n", stderr);
        return 64;
    }
    r = raw_open(connect);
    if (!r)
        return 69;
    status = report(argv[1], argv[2], act(r, argc, argv));
    raw_close(r);
    return status;
}
