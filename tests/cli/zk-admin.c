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

static int set(struct raw *r, const char *path, const char *data)
{
    char *bytes = g_strcompress(data);
    int rc = raw_set(r, path, bytes, (int)strlen(bytes));

    g_free(bytes);
    return rc;
}

/* What everybody may do, and nobody more. */
static int allow(struct raw *r, const char *path, int perms)
{
    char scheme[] = "world", id[] = "anyone";
    struct ACL entry = {perms, {scheme, id}};
    const struct ACL_vector acl = {1, &entry};

    return raw_set_acl(r, path, &acl);
}

/* The children's names, one a line. A node that is not there has none. */
static int list(struct raw *r, const char *path)
{
    char **names = raw_children(r, path);

    if (!names)
        return raw_exists(r, path, NULL) == ZNONODE ? ZOK : ZSYSTEMERROR;
    for (char **name = names; *name; name++)
        puts(*name);
    g_strfreev(names);
    return ZOK;
}

static int act(struct raw *r, int argc, char **argv)
{
    const char *verb = argv[1], *path = argv[2];

    if (strcmp(verb, "create") == 0 && argc == 4)
        return create(r, path, argv[3], 0);
    if (strcmp(verb, "sequence") == 0 && argc == 4)
        return create(r, path, argv[3], ZOO_SEQUENCE);
    if (strcmp(verb, "set") == 0 && argc == 4)
        return set(r, path, argv[3]);
    if (strcmp(verb, "delete") == 0)
        return raw_delete(r, path);
    if (strcmp(verb, "list") == 0)
        return list(r, path);
    if (strcmp(verb, "readonly") == 0)
        return allow(r, path, ZOO_PERM_READ);
    if (strcmp(verb, "hide") == 0)
        return allow(r, path, ZOO_PERM_DELETE);
    if (strcmp(verb, "seal") == 0)
        return allow(r, path, ZOO_PERM_ADMIN);
    return ZBADARGUMENTS;
}

int main(int argc, char **argv)
{
    const char *connect = getenv("ZKL_CONNECT");
    struct raw *r;
    int status;

    if (argc < 3 || !connect) {
        fputs("usage: zk-admin create|sequence|set PATH DATA | "
              "delete|list|readonly|hide|seal PATH\n",
              stderr);
        return 64;
    }
    r = raw_open(connect);
    if (!r)
        return 69;
    status = report(argv[1], argv[2], act(r, argc, argv));
    raw_close(r);
    return status;
}
