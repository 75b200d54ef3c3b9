/* A program that has names of libzkl's inside for its own, linked with the archive: neither calls
 * the other's. */
#include <stdio.h>
#include <zkl.h>

static int calls;

#define OWN(name)                                                                                  \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        calls++;                                                                                   \
    }

OWN(clock_after_ms)
OWN(error_set)
OWN(proofs_init)
OWN(log_line)
OWN(path_check)
OWN(session_ref)
OWN(session_unref)

static void ignore_line(zkl_log_level level, const char *line, void *data)
{
    (void)level, (void)line, (void)data;
}

int main(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_mutex *m = NULL;
    int opened, locked;

    options.log = ignore_line;
    opened = zkl_session_open(&s, "127.0.0.1:1", &options, NULL); /* nobody's port */
    if (opened != 0)
        return 1;
    locked = zkl_mutex_new(&m, s, "/own", NULL) == 0 ? zkl_mutex_lock(m, 300, NULL) : 0;
    zkl_mutex_free(m);
    zkl_session_close(s);
    printf("%s, own functions called %d times by others\n", zkl_strerror(locked), calls);
    log_line();
    session_ref();
    return calls != 2 || locked != ZKL_EUNREACHABLE;
}
