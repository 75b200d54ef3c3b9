/* libzookeeper ignores how far it came in reading an answer: what is cut short, or lies about its
 * lengths, is handed over as good. Where that shows, the answer is none; what stands behind it in
 * the answer, the node's stat, was not read either. */
#include <string.h>

#include "store_zk.h"

int store_zk_check_names(int rc, const struct String_vector *names)
{
    if (rc != ZOK)
        return rc;
    if (!names || names->count < 0 || (names->count > 0 && !names->data))
        return ZMARSHALLINGERROR;
    for (int32_t i = 0; i < names->count; i++) {
        if (!names->data[i])
            return ZMARSHALLINGERROR;
    }
    return ZOK;
}

int store_zk_check_data(int rc, const char *value, int length)
{
    return rc == ZOK && (length < -1 || (length > 0 && !value)) ? ZMARSHALLINGERROR : rc;
}

/* A number is all that a server adds. */
int store_zk_check_path(int rc, const char *path, const char *asked)
{
    const size_t length = strlen(asked);

    if (rc != ZOK)
        return rc;
    return path && strncmp(path, asked, length) == 0 && !strchr(path + length, '/')
               ? ZOK
               : ZMARSHALLINGERROR;
}
