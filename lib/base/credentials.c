#include "credentials.h"

#include <glib.h>
#include <string.h>

const char *credentials_check(const zkl_session_options *o)
{
    if (o->credential_count > 0 && !o->credentials)
        return "credentials is NULL and credential_count is not 0";
    for (size_t i = 0; i < o->credential_count; i++) {
        if (!o->credentials[i].scheme || !o->credentials[i].auth)
            return "credentials has one without scheme or auth";
    }
    return NULL;
}

struct credentials *credentials_new(const zkl_session_options *o)
{
    const size_t count = o->credential_count;
    struct credentials *c = g_atomic_rc_box_alloc0(sizeof *c + count * sizeof(struct credential));

    c->count = count;
    for (size_t i = 0; i < count; i++) {
        const zkl_credential *given = &o->credentials[i];
        c->each[i] = (struct credential){g_strdup(given->scheme), g_strdup(given->auth)};
    }
    return c;
}

struct credentials *credentials_ref(struct credentials *c)
{
    return g_atomic_rc_box_acquire(c);
}

static void credentials_wipe(void *data)
{
    const struct credentials *c = data;

    for (size_t i = 0; i < c->count; i++) {
        g_free(c->each[i].scheme);
        explicit_bzero(c->each[i].secret, strlen(c->each[i].secret));
        g_free(c->each[i].secret);
    }
}

void credentials_unref(struct credentials *c)
{
    if (c)
        g_atomic_rc_box_release_full(c, credentials_wipe);
}
