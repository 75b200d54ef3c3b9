/* Speaks the protocol of sd_notify(3). NOTIFY_SOCKET is the address of an AF_UNIX socket: a path
 * or, after "@", an abstract name. */
#include "notify.h"
#include "tool.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

struct notify {
    int fd; /* -1: nobody wants to know */
    struct sockaddr_un address;
    socklen_t length;
    char *last;
};

struct notify *notify_open(void)
{
    const char *name = g_getenv("NOTIFY_SOCKET");
    const size_t length = name ? strlen(name) : 0;
    /* While the service manager's queue is full, a send waits for room, this long at most. After
     * that the message is dropped. */
    const struct timeval patience = {.tv_sec = 1};
    struct notify *n = g_new0(struct notify, 1);

    n->fd = -1;
    if (!name)
        return n;
    if ((name[0] == '/' || name[0] == '@') && length >= 2 && length <= sizeof n->address.sun_path) {
        n->address.sun_family = AF_UNIX;
        memcpy(n->address.sun_path, name, length);
        if (name[0] == '@')
            n->address.sun_path[0] = '\0';
        n->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
        n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    } else {
        say("NOTIFY_SOCKET: not an address: %s", name);
    }
    if (n->fd >= 0)
        setsockopt(n->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    g_unsetenv("NOTIFY_SOCKET");
    return n;
}

void notify_send(struct notify *n, const char *format, ...)
{
    va_list args;

    if (n->fd < 0)
        return;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    if (g_strcmp0(text, n->last) == 0 ||
        sendto(n->fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&n->address,
               n->length) < 0)
        return;
    g_free(n->last);
    n->last = g_steal_pointer(&text);
}

void notify_close(struct notify *n)
{
    if (n->fd >= 0)
        close(n->fd);
    g_free(n->last);
    g_free(n);
}
