#include <stdio.h>
#include <unistd.h>
#include <zkl.h>

static void on_queue(void *data)
{
    int *news = data;

    if (write(news[1], "", 1) != 1)
        _exit(1);
}

int main(int argc, char **argv)
{
    int news[2];
    char byte;
    zkl_session *s;
    zkl_watch *w;

    if (pipe(news) != 0 ||
        zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_queue_watch(&w, s, "/jobs/nightly", on_queue, news) == 0) {
        if (read(news[0], &byte, 1) == 1)
            puts("read the queue now");
        zkl_watch_free(w); /* on_queue() is not called again */
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * read the queue now */
