/* A program that has names of libzkl's inside for its own, linked with the archive: neither calls
 * the other's. Locks on the given servers, or cannot where nobody listens. */
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

static void ignore_line(const zkl_log_record *record, void *data)
{
    (void)record, (void)data;
}

int main(int argc, char **argv)
{
    const int wanted = argc > 1 ? 0 : ZKL_EUNREACHABLE;
    const int64_t timeout_ms = argc > 1 ? ZKL_FOREVER : 300;
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_mutex *m = NULL;
    int opened, locked;

    options.log = ignore_line;
    opened = zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:1", &options, NULL);
    if (opened != 0)
        return 1;
    locked = zkl_mutex_new(&m, s, "/own", NULL) == 0 ? zkl_mutex_lock(m, timeout_ms, NULL) : 0;
    zkl_mutex_free(m);
    zkl_session_close(s);
    printf("%s, own functions called %d times by others\n", zkl_strerror(locked), calls);
    log_line();
    session_ref();
    return calls != 2 || locked != wanted;
}
