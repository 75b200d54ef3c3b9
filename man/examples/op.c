#include <pthread.h>
#include <stdio.h>
#include <zkl.h>

static void *cancel(void *op)
{
    zkl_op_cancel(op);
    return NULL;
}

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_mutex *m;
    zkl_op *op;
    zkl_grant *held, *grant;
    pthread_t thread;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 &&
        zkl_mutex_lock_async(m, 10000, NULL, NULL, &op) == 0) {
        /* Here the program does something else. */
        if (zkl_op_wait(op, &held) == 0) {
            zkl_op_free(op);
            zkl_mutex_lock_async(m, ZKL_FOREVER, NULL, NULL, &op);
            pthread_create(&thread, NULL, cancel, op);
            if (zkl_op_wait(op, &grant) == ZKL_ECANCELED)
                puts("the other thread ended the wait");
            pthread_join(thread, NULL);
            zkl_grant_release(held);
        }
        zkl_op_free(op);
    }
    zkl_mutex_free(m);
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * the other thread ended the wait */
