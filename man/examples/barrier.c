#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_barrier *b;
    zkl_session *s;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_barrier_new(&b, s, "/maintenance", NULL) == 0) {
        zkl_barrier_set(b, 10000);
        if (zkl_barrier_wait(b, 200) == ZKL_ETIMEDOUT)
            puts("closed: others wait here");
        zkl_barrier_remove(b, 10000);
        if (zkl_barrier_wait(b, 10000) == 0)
            puts("open");
        zkl_barrier_free(b);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * closed: others wait here
 * open */
