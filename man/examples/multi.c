#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_change put = {ZKL_CHANGE_CREATE, 0, "/report", "done", 4};
    zkl_session *s;
    zkl_mutex *m;
    const zkl_grant *g;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 && zkl_mutex_lock(m, 10000, &g) == 0) {
        /* The servers refuse it if the lock is no longer ours. */
        int code = zkl_grant_multi(g, &put, 1, 0, 10000);
        puts(code == 0 ? "written under the lock" : zkl_strerror(code));
        zkl_mutex_unlock(m);
        zkl_mutex_free(m);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * written under the lock */
