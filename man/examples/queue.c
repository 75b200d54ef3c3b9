#include <stdio.h>
#include <string.h>
#include <zkl.h>

/* Our own contender is known by its node. */
static void show_contenders(const zkl_queue *q, const char *own)
{
    for (size_t i = 0; i < zkl_queue_count(q); i++) {
        const zkl_contender *c = zkl_queue_get(q, i);
        const int ours = strcmp(c->node, strrchr(own, '/') + 1) == 0;
        printf("%s %s\n", ours ? "this process" : "another one", c->holds ? "holds it" : "waits");
    }
}

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_mutex *m;
    zkl_queue *q;
    const zkl_grant *g;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 && zkl_mutex_lock(m, 10000, &g) == 0) {
        if (zkl_queue_read(&q, s, "/jobs/nightly", NULL, 10000) == 0) {
            show_contenders(q, zkl_grant_node(g));
            zkl_queue_free(q);
        }
        zkl_mutex_unlock(m);
        zkl_mutex_free(m);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * this process holds it */
