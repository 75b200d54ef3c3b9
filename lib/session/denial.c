#include "denial.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/base/path.h"

/* What permission each operation needs, at the node itself or at its parent. */
static const struct demand {
    const char *words, *permission;
    bool of_parent;
} demands[] = {
    [STORE_CREATE] = {"create a child of", "create (c)", true},
    [STORE_DELETE] = {"delete a child of", "delete (d)", true},
    [STORE_GET] = {"read the data of", "read (r)", false},
    [STORE_LIST] = {"list the children of", "read (r)", false},
    [STORE_SET] = {"set the data of", "write (w)", false},
    [STORE_STAT] = {"read the state of", "read (r)", false},
};

/* Keeps nothing if the server does not take an ACL: it answers in the same way, but no permission
 * is missing. */
void denial_note(zkl_session *s, enum store_kind kind, const char *path,
                 const struct store_reply *reply)
{
    g_clear_pointer(&s->denial.node, g_free);
    if (reply->why == REFUSAL_ACL || kind >= G_N_ELEMENTS(demands) || !demands[kind].words)
        return;
    s->denial.kind = kind;
    s->denial.quota = reply->why == REFUSAL_QUOTA;
    const ptrdiff_t parent = MAX(strrchr(path, '/') - path, 1); /* the root is its slash */
    s->denial.node = g_strndup(path, demands[kind].of_parent ? (gsize)parent : strlen(path));
}

/* Whether path is at, above or below the node that was refused. The node may be above the chroot,
 * too. */
static bool denial_concerns(const zkl_session *s, const char *path)
{
    const char *node = s->denial.node;
    char *full = g_strconcat(s->chroot, path, NULL);
    const bool related =
        path_is_within(full, node) || path_is_within(node, full) || path_is_within(path, node);

    g_free(full);
    return related;
}

char *denial_text(const zkl_session *s, int code, const char *path)
{
    const struct demand *demand = &demands[s->denial.kind];
    const char *node;

    if (code != ZKL_EACCES || !s->denial.node || !denial_concerns(s, path))
        return g_strdup(zkl_strerror(code));
    node = session_path(s, s->denial.node);
    node = strcmp(node, path) == 0 ? "it" : node;
    if (s->denial.quota)
        return g_strdup_printf("the server refused to %s %s: a quota would be exceeded",
                               demand->words, node);
    return g_strdup_printf("the server refused to %s %s: the permission %s is missing",
                           demand->words, node, demand->permission);
}

void denial_fill(const zkl_session *s, zkl_error *ret, int code, const char *path)
{
    char *text = denial_text(s, code, path);

    error_fill(ret, code, path, "%s: %s", path, text);
    g_free(text);
}
