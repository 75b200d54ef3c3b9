#include <stdio.h>
#include <zkl.h>

static void on_change(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s, (void)data;
    if (event == ZKL_SESSION_REPLACED)
        fprintf(stderr, "session %llx has ended\n", (unsigned long long)id);
}

int main(int argc, char **argv)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_error error;

    options.session_timeout_ms = 6000;
    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", &options, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    zkl_session_on_change(s, on_change, NULL);
    int code = zkl_session_wait(s, 10000);
    if (code == 0)
        printf("a session of %d ms\n", zkl_session_timeout_ms(s));
    zkl_session_close(s);
    return code != 0;
}

/* It prints:
 * a session of 6000 ms */
