#include "credentials_shared.h"
#include "credentials.h"
#include "guard/shared.h"

#include <string.h>
#include <sys/mman.h>

/* The memory. Each credential has a scheme and then a secret, each with a NUL after it. */
struct left {
    atomic_size_t size; /* 0 while .texts change: a kill in between leaves none */
    char texts[CREDENTIALS_MAX];
};
static struct left *left;

bool credentials_share(void)
{
    credentials_unshare();
    left = shared_map(sizeof *left);
    return left;
}

void credentials_leave(const GArray *credentials)
{
    if (!left)
        return;
    char *end = left->texts;
    atomic_store(&left->size, 0);
    for (guint i = 0; i < credentials->len; i++) {
        const zkl_credential *c = &g_array_index(credentials, zkl_credential, i);

        end = stpcpy(stpcpy(end, c->scheme) + 1, c->auth) + 1;
    }
    atomic_store(&left->size, (size_t)(end - left->texts));
}

void credentials_unshare(void)
{
    if (left)
        munmap(left, sizeof *left);
    left = NULL;
}

GArray *credentials_shared(void)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(zkl_credential));
    const char *text = left ? left->texts : NULL;
    const char *end = left ? text + atomic_load(&left->size) : NULL;

    while (text < end) {
        const zkl_credential c = {text, text + strlen(text) + 1};

        g_array_append_val(list, c);
        text = c.auth + strlen(c.auth) + 1;
    }
    return list;
}
