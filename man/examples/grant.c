#include <inttypes.h>
#include <stdio.h>
#include <zkl.h>

static void on_change(const zkl_grant *g, zkl_state state, void *data)
{
    (void)g, (void)data;
    if (state == ZKL_LOST)
        fputs("stop: the lock is lost\n", stderr);
}

int main(int argc, char **argv)
{
    char fence[ZKL_FENCE_SIZE];
    zkl_session *s;
    zkl_mutex *m;
    const zkl_grant *g;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 && zkl_mutex_lock(m, 10000, &g) == 0) {
        zkl_grant_on_change(g, on_change, NULL);
        zkl_grant_fence(g, fence, sizeof fence); /* goes with every write to the resource */
        if (zkl_grant_state(g) == ZKL_HELD)
            printf("held for %s\n",
                   zkl_grant_remaining_ms(g) > 1000 ? "more than a second" : "less");
        zkl_mutex_unlock(m);
        zkl_mutex_free(m);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * held for more than a second */
