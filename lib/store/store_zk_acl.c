/* The ACL of what is made, as libzookeeper takes it. */
#include "lib/base/acl.h"
#include "store_zk.h"

void store_zk_use_acl(struct store *store, const char *text)
{
    GArray *entries = acl_parse(text);

    store->acl_entries = entries;
    store->acl.count = (int32_t)entries->len;
    store->acl.data = g_new0(struct ACL, entries->len);
    for (guint i = 0; i < entries->len; i++) {
        const struct acl_entry *entry = &g_array_index(entries, struct acl_entry, i);
        store->acl.data[i] = (struct ACL){entry->perms, {entry->scheme, entry->id}};
    }
}

void store_zk_drop_acl(struct store *store)
{
    g_free(store->acl.data);
    g_array_unref(store->acl_entries);
}
