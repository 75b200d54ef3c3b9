#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_mutex *m;
    zkl_queue *q;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 && zkl_mutex_lock(m, 10000, NULL) == 0) {
        if (zkl_queue_read(&q, s, "/jobs/nightly", NULL, 10000) == 0) {
            for (size_t i = 0; i < zkl_queue_count(q); i++)
                puts(zkl_queue_get(q, i)->holds ? "one holds it" : "one waits");
            zkl_queue_free(q);
        }
        zkl_mutex_unlock(m);
        zkl_mutex_free(m);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * one holds it */
