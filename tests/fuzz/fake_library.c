#include "fake_library.h"

#include <glib.h>
#include <string.h>

struct fake_library fake_library;

static zkl_error last;

/* Never looked into. */
static char session, queue;

static int answer(int code, const char *subject)
{
    last = (zkl_error){.code = code};
    g_strlcpy(last.path, subject, sizeof last.path);
    if (code)
        g_snprintf(last.text, sizeof last.text, "%s: refused", subject);
    return code;
}

int zkl_session_open(zkl_session **ret, const char *connect, const zkl_session_options *options,
                     zkl_error *reterr)
{
    int code = answer(fake_library.open_code, connect);

    (void)options;
    if (code && reterr)
        *reterr = last;
    if (code == 0) {
        fake_library.opened++;
        *ret = (zkl_session *)&session;
    }
    return code;
}

int zkl_session_wait(zkl_session *s, int64_t timeout_ms)
{
    (void)s, (void)timeout_ms;
    return 0;
}

void zkl_session_close(zkl_session *s)
{
    fake_library.closed += s != NULL;
}

int zkl_queue_read(zkl_queue **ret, zkl_session *s, const char *path,
                   const zkl_queue_options *options, int64_t timeout_ms)
{
    (void)s, (void)options, (void)timeout_ms;
    const int code = answer(fake_library.read_code, path);

    fake_library.read++;
    if (code == 0)
        *ret = (zkl_queue *)&queue;
    return code;
}

size_t zkl_queue_count(const zkl_queue *q)
{
    (void)q;
    return fake_library.count;
}

const zkl_contender *zkl_queue_get(const zkl_queue *q, size_t i)
{
    (void)q;
    return &fake_library.contenders[i];
}

void zkl_queue_free(zkl_queue *q)
{
    (void)q;
    fake_library.freed++;
}

int zkl_last_error(zkl_error *ret)
{
    if (ret)
        *ret = last;
    return last.code;
}

gboolean g_file_get_contents(const char *name, char **contents, gsize *length, GError **error)
{
    if (!fake_library.file) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no file %s", name);
        return FALSE;
    }
    *contents = g_strdup(fake_library.file);
    if (length)
        *length = strlen(*contents);
    return TRUE;
}

/* No path is that of a group. */
int zkl_members_read(zkl_members **ret, zkl_session *s, const char *path, zkl_member_layout layout,
                     int64_t timeout_ms)
{
    (void)s, (void)path, (void)layout, (void)timeout_ms;
    *ret = NULL;
    return 0;
}

size_t zkl_members_count(const zkl_members *ms)
{
    (void)ms;
    return 0;
}

const zkl_member_info *zkl_members_get(const zkl_members *ms, size_t i)
{
    (void)ms, (void)i;
    return NULL;
}

void zkl_members_free(zkl_members *ms)
{
    (void)ms;
}
