#include "options.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "zkl.h"

enum {
    SIZE_MAX_SANE = 4096, /* of any version to come */
    NAME_MAX_BYTES = 1024
};

/* Refuses a shorter struct, because 0.1 is the first version. */
const char *options_take(void *ret, size_t size, const void *given)
{
    size_t claimed;

    if (!given)
        return NULL;
    memcpy(&claimed, given, sizeof claimed);
    if (claimed < size || claimed > SIZE_MAX_SANE)
        return "size is invalid: fill the struct with its …_OPTIONS_INIT macro";
    for (size_t i = size; i < claimed; i++) {
        if (((const char *)given)[i] != 0)
            return "an option is set that this version of the library does not know";
    }
    memcpy(ret, given, size);
    return NULL;
}

const char *options_give(void *ret, const void *from, size_t size, size_t least)
{
    size_t filled = 0;

    if (ret)
        memcpy(&filled, ret, sizeof filled);
    if (filled < least || size < least)
        return "ret is NULL, or ret->size is too small";
    filled = MIN(filled, size);
    memcpy(ret, from, filled);
    memcpy(ret, &filled, sizeof filled);
    return NULL;
}

const char *options_check(const char *name, zkl_parents parents)
{
    if (name && strnlen(name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
        return "name is longer than 1024 bytes";
    if (name && !g_utf8_validate(name, -1, NULL))
        return "name is not UTF-8";
    if (parents != ZKL_PARENTS_CONTAINER && parents != ZKL_PARENTS_PERSISTENT)
        return "parents is none of zkl_parents";
    return NULL;
}

char *options_default_name(uint64_t thread)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    if (thread == 0)
        return g_strdup_printf("%s pid %d", host, (int)getpid());
    return g_strdup_printf("%s pid %d thread %" G_GUINT64_FORMAT, host, (int)getpid(), thread);
}

const char *zkl_version(void)
{
    return ZKL_VERSION;
}
