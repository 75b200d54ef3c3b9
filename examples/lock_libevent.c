/* A lock in the loop of libevent, which reads zkl_session_fd(). */
#include <event2/event.h>
#include <stdio.h>
#include <zkl.h>

static struct event_base *loop;
static int status = 1;

static void on_readable(evutil_socket_t fd, short what, void *session)
{
    (void)fd;
    (void)what;
    zkl_session_dispatch(session);
}

/* Inside zkl_session_dispatch(), so that nothing here needs a lock. */
static void on_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    (void)data;
    if (err)
        fprintf(stderr, "%s\n", err->text);
    else
        status = printf("mine, with token %llu\n", (unsigned long long)zkl_grant_token(grant)) < 0;
    zkl_grant_release(grant);
    event_base_loopbreak(loop);
}

int main(int argc, char **argv)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    struct event *readable;
    zkl_mutex *m = NULL;
    zkl_session *s;

    options.dispatch = 1;
    if (argc != 2 || zkl_session_open(&s, argv[1], &options, NULL) != 0)
        return 64;
    loop = event_base_new();
    readable = event_new(loop, zkl_session_fd(s), EV_READ | EV_PERSIST, on_readable, s);
    event_add(readable, NULL);
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 &&
        zkl_mutex_lock_async(m, 10000, on_acquired, NULL, NULL) == 0)
        event_base_dispatch(loop);
    zkl_mutex_free(m);
    event_free(readable);
    zkl_session_close(s); /* waits until the lock is free for others */
    event_base_free(loop);
    return status;
}
