#include <stdio.h>
#include <zkl.h>

/* A part of the work, which others call without the lock: so it locks for itself. */
static void write_index(zkl_mutex *m)
{
    if (zkl_mutex_lock(m, 10000, NULL) != 0)
        return;
    printf("at work, %d levels deep\n", zkl_mutex_depth(m));
    zkl_mutex_unlock(m);
}

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_mutex *m;
    const zkl_grant *g;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0) {
        int code = zkl_mutex_lock(m, 10000, &g);
        if (code == 0) {
            puts("locked");
            if (zkl_grant_remaining_ms(g) > 100)
                write_index(m);
            code = zkl_mutex_unlock(m);
        }
        if (code != 0)
            fprintf(stderr, "%s\n", zkl_strerror(code));
        zkl_mutex_free(m);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * locked
 * at work, 2 levels deep */
