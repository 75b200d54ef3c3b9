/* ACLs as text, "scheme:id:perms,…", the way the ZooKeeper shell takes them. */
#ifndef LIB_ACL_H
#define LIB_ACL_H

#include <glib.h>
#include <stdint.h>

struct acl_entry {
    int32_t perms; /* ZooKeeper's bits: read 1, write 2, create 4, delete 8, admin 16 */
    char *scheme, *id;
};

/* Parses text (NULL: everybody may do everything) into a new array of struct acl_entry. Returns
 * NULL if text is wrong. Free with g_array_unref(). */
GArray *acl_parse(const char *text);

#endif
