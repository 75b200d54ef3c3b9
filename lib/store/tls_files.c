#include <glib.h>
#include <string.h>

#include "tls.h"

struct tls_files tls_files_copy(const struct tls_files *files)
{
    if (!files)
        return (struct tls_files){NULL, NULL, NULL};
    return (struct tls_files){g_strdup(files->ca), g_strdup(files->cert), g_strdup(files->key)};
}

void tls_files_clear(struct tls_files *files)
{
    g_free(files->ca);
    g_free(files->cert);
    g_free(files->key);
}

/* Refuses a comma: libzookeeper takes all names in one string with commas. */
static const char *check_name(const char *name)
{
    return strchr(name, ',') || !*name ? "the name of a file of TLS is empty or has a comma" : NULL;
}

char *tls_files_check(const struct tls_files *files)
{
    const char *const names[] = {files->ca, files->cert, files->key};
    char *wrong = NULL;
    int given = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        given += names[i] != NULL;
        if (names[i] && check_name(names[i]))
            return g_strdup(check_name(names[i]));
    }
    if (given == 0)
        return NULL;
    if (given < 3)
        return g_strdup("TLS needs all of tls_ca, tls_cert and tls_key");
    tls_free(tls_new(files, &wrong));
    return wrong;
}
