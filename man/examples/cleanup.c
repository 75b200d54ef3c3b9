#include <stdio.h>
#include <zkl.h>

static int work(zkl_session *s)
{
    ZKL_AUTO(zkl_mutex) mutex = NULL;

    if (zkl_mutex_new(&mutex, s, "/jobs/nightly", NULL) != 0)
        return 1;
    ZKL_AUTO(zkl_mutex_locker) locker = zkl_mutex_locker_new(mutex, 10000, NULL);
    if (!locker)
        return 1;
    puts("locked to the end of this scope");
    return 0;
}

int main(int argc, char **argv)
{
    ZKL_AUTO(zkl_session) s = NULL;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    return work(s);
}

/* It prints:
 * locked to the end of this scope */
