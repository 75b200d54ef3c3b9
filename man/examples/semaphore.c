#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_semaphore_options options = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m;
    zkl_session *s;
    zkl_grant *g;
    zkl_part part;

    options.limit = 4;
    options.numbered = 1;
    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_semaphore_new(&m, s, "/workers", &options) == 0) {
        if (zkl_semaphore_acquire(m, 1, 10000, &g) == 0) {
            if (zkl_grant_part(g, 0, &part) == 0)
                printf("slot %d of 4\n", part.slot);
            zkl_grant_release(g);
        }
        zkl_semaphore_free(m);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * slot 0 of 4 */
