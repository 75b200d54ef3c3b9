#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_mutex *m;
    zkl_error error;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "jobs/nightly", NULL) != 0) {
        zkl_last_error(&error);
        printf("%s: %s\n", zkl_strerror(error.code), error.text);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * invalid argument: path "jobs/nightly": it must begin with a slash */
