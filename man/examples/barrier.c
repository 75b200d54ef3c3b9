#include <pthread.h>
#include <stdio.h>
#include <zkl.h>

/* One of two members, which may be in other processes: both enter, then both leave. */
static void *enter_and_leave(void *member)
{
    if (zkl_double_barrier_enter(member, 10000) != 0)
        return NULL;
    /* Here both work. */
    return zkl_double_barrier_leave(member, 10000) == 0 ? member : NULL;
}

static void both_meet(zkl_session *s)
{
    zkl_double_barrier *one = NULL, *other = NULL;
    pthread_t thread;

    if (zkl_double_barrier_new(&one, s, "/round", 2, NULL) == 0 &&
        zkl_double_barrier_new(&other, s, "/round", 2, NULL) == 0 &&
        pthread_create(&thread, NULL, enter_and_leave, other) == 0) {
        if (enter_and_leave(one))
            puts("both have done their part");
        pthread_join(thread, NULL);
    }
    zkl_double_barrier_free(one);
    zkl_double_barrier_free(other);
}

int main(int argc, char **argv)
{
    zkl_barrier *b;
    zkl_session *s;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_barrier_new(&b, s, "/maintenance", NULL) == 0) {
        zkl_barrier_set(b, 0);
        if (zkl_barrier_wait(b, 200) == ZKL_ETIMEDOUT)
            puts("closed: others wait here");
        zkl_barrier_remove(b, 0);
        if (zkl_barrier_wait(b, 10000) == 0)
            puts("open");
        zkl_barrier_free(b);
    }
    both_meet(s);
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * closed: others wait here
 * open
 * both have done their part */
