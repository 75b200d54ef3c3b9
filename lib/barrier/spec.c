#include "spec.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/session/call.h"

enum { NAME_MAX_BYTES = 1024 };

static const char *check(const zkl_barrier_options *o)
{
    if (o->name && strnlen(o->name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
        return "name is longer than 1024 bytes";
    if (o->name && !g_utf8_validate(o->name, -1, NULL))
        return "name is not UTF-8";
    if (o->parents != ZKL_PARENTS_CONTAINER && o->parents != ZKL_PARENTS_PERSISTENT)
        return "parents is none of zkl_parents";
    return NULL;
}

static char *default_name(void)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    return g_strdup_printf("%s pid %d", host, (int)getpid());
}

int barrier_spec_take(struct barrier_spec *spec, const char *doing, zkl_session *s,
                      const char *path, const zkl_barrier_options *options)
{
    zkl_barrier_options o = ZKL_BARRIER_OPTIONS_INIT;
    int code = call_check(s, doing, path, false);
    const char *wrong;

    if (code)
        return code;
    wrong = options_take(&o, sizeof o, options);
    if (!wrong)
        wrong = check(&o);
    if (wrong)
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    session_lock(s);
    bool closing = s->closing;
    session_unlock(s);
    if (closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    spec->session = session_ref(s);
    spec->path = g_strconcat(s->chroot, path, NULL);
    spec->name = o.name ? g_strdup(o.name) : default_name();
    spec->parents = o.parents == ZKL_PARENTS_CONTAINER ? STORE_CONTAINER : STORE_PERSISTENT;
    return 0;
}

void barrier_spec_clear(struct barrier_spec *spec)
{
    session_unref(spec->session);
    g_free(spec->path);
    g_free(spec->name);
}
