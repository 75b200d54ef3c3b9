#include "options.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "zkl.h"

enum {
    SIZE_MAX_SANE = 4096, /* of any version to come */
    NAME_MAX_BYTES = 1024
};

/* 0.1 is the first version, so that nothing shorter is known. */
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

/* ---- the defaults, as the macros of the headers give them; and the version of the library ---- */

/* Gives the defaults, of known bytes, to a caller whose struct has size bytes. Returns 0 or
 * ZKL_EINVAL. */
static int options_give(void *ret, size_t size, const void *defaults, size_t known)
{
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "ret is NULL");
    if (size < known || size > SIZE_MAX_SANE)
        return error_set(ZKL_EINVAL, NULL, "size is invalid: it is that of the struct of options");
    memset(ret, 0, size);
    memcpy(ret, defaults, known);
    memcpy(ret, &size, sizeof size);
    return 0;
}

/* Static, so that the bytes between members are 0, too. */
#define OPTIONS_INIT(type, defaults)                                                               \
    int zkl_##type##_init(zkl_##type *ret, size_t size)                                            \
    {                                                                                              \
        static const zkl_##type known = defaults;                                                  \
        return options_give(ret, size, &known, sizeof known);                                      \
    }

OPTIONS_INIT(barrier_options, ZKL_BARRIER_OPTIONS_INIT)
OPTIONS_INIT(election_options, ZKL_ELECTION_OPTIONS_INIT)
OPTIONS_INIT(member_options, ZKL_MEMBER_OPTIONS_INIT)
OPTIONS_INIT(members_options, ZKL_MEMBERS_OPTIONS_INIT)
OPTIONS_INIT(multilock_options, ZKL_MULTILOCK_OPTIONS_INIT)
OPTIONS_INIT(mutex_options, ZKL_MUTEX_OPTIONS_INIT)
OPTIONS_INIT(queue_options, ZKL_QUEUE_OPTIONS_INIT)
OPTIONS_INIT(rwlock_options, ZKL_RWLOCK_OPTIONS_INIT)
OPTIONS_INIT(semaphore_options, ZKL_SEMAPHORE_OPTIONS_INIT)
OPTIONS_INIT(session_options, ZKL_SESSION_OPTIONS_INIT)

const char *zkl_version(void)
{
    return ZKL_VERSION;
}
