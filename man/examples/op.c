#include <stdio.h>
#include <unistd.h>
#include <zkl.h>

static void on_acquired(zkl_grant *g, const zkl_error *err, void *data)
{
    int *end = data;

    puts(err ? err->text : "acquired");
    zkl_grant_release(g);
    if (write(end[1], "", 1) != 1)
        _exit(1);
}

int main(int argc, char **argv)
{
    int end[2];
    char byte;
    zkl_session *s;
    zkl_mutex *m;
    zkl_op *op;

    if (pipe(end) != 0 ||
        zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 &&
        zkl_mutex_lock_async(m, 10000, on_acquired, end, &op) == 0) {
        /* Here the program does something else; zkl_op_cancel(op) would end the wait. */
        if (read(end[0], &byte, 1) != 1)
            return 1;
        zkl_op_free(op);
        zkl_mutex_free(m);
    }
    zkl_session_close(s);
    return 0;
}
