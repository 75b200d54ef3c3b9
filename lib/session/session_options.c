/* What may be asked of a session. */
#include <string.h>

#include "core.h"
#include "lib/base/acl.h"
#include "lib/base/credentials.h"
#include "lib/base/options.h"

enum { TIMEOUT_MIN_MS = 200, DRIFT_MAX = 500 };

static const char *check_acl(const zkl_session_options *o)
{
    GArray *acl = acl_parse(o->acl);
    const char *wrong = NULL;

    if (!acl)
        return "acl must be scheme:id:perms,… with perms of r, w, c, d and a";
    /* The server puts the session's own in its place, and refuses each create when there are none.
     */
    for (guint i = 0; i < acl->len && o->credential_count == 0; i++) {
        if (strcmp(g_array_index(acl, struct acl_entry, i).scheme, "auth") == 0)
            wrong = "acl has the scheme auth, which needs credentials";
    }
    g_array_unref(acl);
    return wrong;
}

static const char *check_sasl(const zkl_session_options *o)
{
    bool sasl = false;

    for (size_t i = 0; i < o->credential_count; i++)
        sasl |= strcmp(o->credentials[i].scheme, "sasl") == 0;
    if (!sasl)
        return NULL;
    if (o->tls_ca)
        return "libzookeeper cannot do TLS and SASL together";
    return store_sasl_unsupported();
}

static const char *check_options(const zkl_session_options *o)
{
    const char *wrong = check_acl(o);

    if (wrong)
        return wrong;
    if (o->session_timeout_ms < TIMEOUT_MIN_MS || o->session_timeout_ms > SESSION_TIMEOUT_MAX_MS)
        return "session_timeout_ms must be 200 to 1000000000";
    if (o->tick_ms < 0)
        return "tick_ms must not be negative";
    if (o->drift_permille < 0 || o->drift_permille > DRIFT_MAX)
        return "drift_permille must be 1 to 500, or 0 for the default";
    if (o->log_level < ZKL_LOG_ERROR || o->log_level > ZKL_LOG_DEBUG)
        return "log_level is none of zkl_log_level";
    if (o->warm_ms < 0)
        return "warm_ms must not be negative";
    if (o->dispatch != 0 && o->dispatch != 1)
        return "dispatch must be 0 or 1";
    if (o->fixed_servers != 0 && o->fixed_servers != 1)
        return "fixed_servers must be 0 or 1";
    if (!proofs_can_last(o->session_timeout_ms * CLOCK_MS, o->tick_ms * CLOCK_MS,
                         o->drift_permille))
        return "tick_ms or drift_permille is too large for session_timeout_ms: an ensemble could "
               "not renew a grant in time";
    wrong = credentials_check(o);
    return wrong ? wrong : check_sasl(o);
}

struct tls_files session_tls(const zkl_session_options *o)
{
    /* They are not written to. */
    return (struct tls_files){(char *)(uintptr_t)o->tls_ca, (char *)(uintptr_t)o->tls_cert,
                              (char *)(uintptr_t)o->tls_key};
}

/* In a struct that was only zeroed nothing may be less safe than by default. */
const char *session_take_options(zkl_session_options *o, const zkl_session_options *given)
{
    const zkl_session_options usual = *o;
    const char *wrong = options_take(o, sizeof *o, given);

    if (wrong)
        return wrong;
    if (o->drift_permille == 0)
        o->drift_permille = usual.drift_permille;
    if (o->log_level == 0)
        o->log_level = usual.log_level;
    return check_options(o);
}
