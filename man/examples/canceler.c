#include <pthread.h>
#include <stdio.h>
#include <zkl.h>

static void *cancel(void *canceler)
{
    zkl_canceler_cancel(canceler);
    return NULL;
}

int main(int argc, char **argv)
{
    zkl_canceler *c;
    zkl_session *s;
    zkl_mutex *held, *wanted;
    pthread_t thread;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0 ||
        zkl_canceler_new(&c) != 0)
        return 1;
    if (zkl_mutex_new(&held, s, "/jobs/nightly", NULL) == 0 &&
        zkl_mutex_new(&wanted, s, "/jobs/nightly", NULL) == 0 &&
        zkl_mutex_lock(held, 10000, NULL) == 0 && pthread_create(&thread, NULL, cancel, c) == 0) {
        if (zkl_mutex_lock_cancelable(wanted, ZKL_FOREVER, c, NULL) == ZKL_ECANCELED)
            puts("the other thread ended the wait");
        pthread_join(thread, NULL);
        zkl_mutex_unlock(held);
        zkl_mutex_free(held);
        zkl_mutex_free(wanted);
    }
    zkl_canceler_free(c);
    zkl_session_close(s);
    return 0;
}
