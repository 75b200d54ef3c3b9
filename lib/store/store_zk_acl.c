/* Which ACL a node at a path gets. */
#include <string.h>

#include "lib/base/acl.h"
#include "lib/base/path.h"
#include "store_zk.h"

static void add_acl(struct store *store, const char *path, const char *text)
{
    struct store_acl acl = {.path = g_strdup(path), .entries = acl_parse(text)};

    acl.vector.count = (int32_t)acl.entries->len;
    acl.vector.data = g_new0(struct ACL, acl.entries->len);
    for (guint i = 0; i < acl.entries->len; i++) {
        const struct acl_entry *entry = &g_array_index(acl.entries, struct acl_entry, i);
        acl.vector.data[i] = (struct ACL){entry->perms, {entry->scheme, entry->id}};
    }
    g_array_append_val(store->acls, acl);
}

static void clear_acl(void *data)
{
    struct store_acl *acl = data;

    g_free(acl->path);
    g_free(acl->vector.data);
    g_array_unref(acl->entries);
}

void store_zk_use_acls(struct store *store, const struct store_config *config)
{
    store->acls = g_array_new(FALSE, FALSE, sizeof(struct store_acl));
    g_array_set_clear_func(store->acls, clear_acl);
    add_acl(store, NULL, config->acl);
    for (guint i = 0; config->acl_rules && i < config->acl_rules->len; i++) {
        const struct acl_rule *rule = &g_array_index(config->acl_rules, struct acl_rule, i);
        add_acl(store, rule->path, rule->acl);
    }
}

const struct ACL_vector *store_zk_acl(const struct store *store, const char *path)
{
    const struct store_acl *found = &g_array_index(store->acls, struct store_acl, 0);

    for (guint i = 1; i < store->acls->len; i++) {
        const struct store_acl *acl = &g_array_index(store->acls, struct store_acl, i);
        if (path_is_within(path, acl->path) &&
            (!found->path || strlen(acl->path) > strlen(found->path)))
            found = acl;
    }
    return &found->vector;
}
