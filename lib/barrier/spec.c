#include "spec.h"

#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/session/call.h"

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
        wrong = options_check(o.name, o.parents);
    if (wrong)
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    if ((code = session_check_open(s)))
        return code;
    spec->session = session_ref(s);
    spec->path = g_strconcat(s->chroot, path, NULL);
    spec->name = o.name ? g_strdup(o.name) : options_default_name(0);
    spec->parents = o.parents == ZKL_PARENTS_CONTAINER ? STORE_CONTAINER : STORE_PERSISTENT;
    return 0;
}

int barrier_spec_check(const struct barrier_spec *spec, const char *doing, bool blocking)
{
    if (!spec)
        return error_set(ZKL_EINVAL, NULL, "%s: the barrier is NULL", doing);
    return call_check(spec->session, doing, session_path(spec->session, spec->path), blocking);
}

void barrier_spec_clear(struct barrier_spec *spec)
{
    session_unref(spec->session);
    g_free(spec->path);
    g_free(spec->name);
}
