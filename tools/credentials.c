/* Secrets are wiped where they were read, and copied only for the library. */
#include "credentials.h"
#include "guard/ps_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static GPtrArray *given; /* with --auth */
static char *inherited;  /* ZKL_AUTH */
static char *piped;      /* what a pipe has held, which is read once; NULL: there is none */
static bool forgotten;   /* credentials_forget() has wiped them */
static bool never_wiped; /* see credentials_keep() */

static void wipe_secret(void *secret)
{
    explicit_bzero(secret, strlen(secret));
    g_free(secret);
}

/* Moves text out of the command line or the environment, where others can see it. */
static char *take_secret(const char *text)
{
    char *secret = g_strdup(text);

    ps_name_wipe(text);
    explicit_bzero((char *)(uintptr_t)text, strlen(text));
    return secret;
}

void credentials_hide(void)
{
    const char *text = getenv("ZKL_AUTH");

    forgotten = false;
    if (text)
        inherited = take_secret(text);
    unsetenv("ZKL_AUTH");
}

gboolean credentials_take(const char *option, const char *word, gpointer data, GError **error)
{
    (void)option;
    (void)data;
    (void)error;
    if (!given)
        given = g_ptr_array_new_with_free_func(wipe_secret);
    g_ptr_array_add(given, take_secret(word));
    return TRUE;
}

void credentials_keep(void)
{
    never_wiped = true;
}

void credentials_forget(void)
{
    if (never_wiped)
        return;
    g_clear_pointer(&given, g_ptr_array_unref);
    g_clear_pointer(&inherited, wipe_secret);
    g_clear_pointer(&piped, wipe_secret);
    forgotten = true;
}

/* ---- parsing ---- */

static void credentials_clear(void *data)
{
    const zkl_credential *c = data;

    g_free((char *)(uintptr_t)c->scheme);
    wipe_secret((char *)(uintptr_t)c->auth);
}

static int credentials_add(GArray *list, const char *source, const char *text)
{
    const char *colon = strchr(text, ':');

    if (!colon || colon == text || !colon[1])
        return fail(STATUS_USAGE, "%s: expected SCHEME:CREDENTIALS, as in digest:user:password",
                    source);
    const zkl_credential c = {g_strndup(text, (gsize)(colon - text)), g_strdup(colon + 1)};
    g_array_append_val(list, c);
    return GO_ON;
}

/* Adds credentials, a line each; changes text. */
static int add_lines(GArray *list, const char *source, char *text)
{
    int status = GO_ON;

    while (text && status == GO_ON) {
        char *line = strsep(&text, "\n");

        if (*g_strchomp(line))
            status = credentials_add(list, source, line);
    }
    if (status == GO_ON && list->len == 0)
        status = fail(STATUS_USAGE, "%s: no credentials", source);
    return status;
}

/* ---- where they come from ---- */

/* Reads as much of the open file as fits. Returns the length, or -1 with errno set. */
static ssize_t read_all(int fd, char *buffer, size_t size)
{
    ssize_t length = 0, n = 1;

    while (n > 0 && (size_t)length < size) {
        n = read(fd, buffer + length, size - (size_t)length);
        length += MAX(n, 0);
    }
    return n < 0 ? -1 : length;
}

/* Reads the text of the file fd; below 0: errno says why it could not be opened. Judges the file
 * that is opened, so no other can take its place under the name. */
static int read_secrets(const char *source, int fd, char text[CREDENTIALS_MAX])
{
    struct stat file;
    /* Others than owner and group must neither learn a secret nor put theirs in its place. A pipe
     * is not refused: it stores nothing. */
    const bool refused = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
                         (file.st_mode & (S_IROTH | S_IWOTH)) != 0;
    const ssize_t length = fd < 0 || refused ? -1 : read_all(fd, text, CREDENTIALS_MAX);

    if (refused)
        return fail(STATUS_USAGE, "%s: others may read or write it: chmod o-rw", source);
    if (length < 0)
        return fail(STATUS_USAGE, "%s: %s", source, g_strerror(errno));
    if (length == CREDENTIALS_MAX || memchr(text, '\0', (size_t)length))
        return fail(STATUS_USAGE, "%s: not lines of text, less than 64 KiB", source);
    text[length] = '\0';
    return GO_ON;
}

static int add_file(GArray *list, const char *option, const char *name)
{
    g_autofree char *source = g_strdup_printf("%s: %s", option, name);
    char text[CREDENTIALS_MAX];
    const int fd = piped ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    int status = piped ? GO_ON : read_secrets(source, fd, text);

    if (piped)
        g_strlcpy(text, piped, sizeof text);
    if (status == GO_ON)
        status = add_lines(list, source, text);
    explicit_bzero(text, sizeof text);
    if (fd >= 0)
        close(fd);
    return status;
}

int credentials_begin(const struct settings *settings)
{
    const char *option = settings->auth_file ? "--auth-file" : "ZKL_AUTH_FILE";
    const char *name = settings->auth_file ? settings->auth_file : getenv("ZKL_AUTH_FILE");
    g_autofree char *source = g_strdup_printf("%s: %s", option, name ? name : "");
    char text[CREDENTIALS_MAX];
    struct stat file;
    int status = GO_ON;

    if (!name || given || (inherited && !settings->auth_file))
        return GO_ON; /* it does not count */
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &file) == 0 && !S_ISREG(file.st_mode)) {
        status = read_secrets(source, fd, text);
        if (status == GO_ON)
            piped = g_strdup(text);
        explicit_bzero(text, sizeof text);
    }
    if (fd >= 0)
        close(fd);
    return status;
}

/* Adds the credentials from the one place where there are some. Returns GO_ON, or a status after a
 * message. */
static int add_all(const struct settings *settings, GArray *list)
{
    const char *name = getenv("ZKL_AUTH_FILE");
    int status = GO_ON;

    if (given && settings->auth_file)
        return fail(STATUS_USAGE, "--auth and --auth-file exclude each other");
    for (guint i = 0; given && i < given->len && status == GO_ON; i++)
        status = credentials_add(list, "--auth", given->pdata[i]);
    if (given)
        return status;
    if (settings->auth_file)
        return add_file(list, "--auth-file", settings->auth_file);
    if (inherited && name && *name)
        return fail(STATUS_USAGE, "ZKL_AUTH and ZKL_AUTH_FILE exclude each other");
    if (!inherited)
        return name && *name ? add_file(list, "ZKL_AUTH_FILE", name) : GO_ON;
    g_autofree char *text = g_strdup(inherited);
    const size_t size = strlen(text);
    status = add_lines(list, "ZKL_AUTH", text);
    explicit_bzero(text, size);
    return status;
}

int credentials_read(const struct settings *settings, GArray **ret)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(zkl_credential));
    size_t size = 0;

    g_assert(!forgotten); /* after that a session would have none */
    g_array_set_clear_func(list, credentials_clear);
    int status = add_all(settings, list);
    for (guint i = 0; i < list->len; i++) {
        const zkl_credential *c = &g_array_index(list, zkl_credential, i);

        size += strlen(c->scheme) + 1 + strlen(c->auth) + 1;
    }
    if (status == GO_ON && size > CREDENTIALS_MAX)
        status = fail(STATUS_USAGE, "credentials: more than 64 KiB");
    if (status == GO_ON)
        *ret = g_steal_pointer(&list);
    return status;
}
