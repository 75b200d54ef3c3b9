/* A channel is a socket pair of whole messages. When one side's process ends, the other reads the
 * end of file. */
#include "channel.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool channel_open(int ret[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) == 0;
}

pid_t channel_fork(int *ret)
{
    int ends[2];

    if (!channel_open(ends))
        return -1;
    const pid_t pid = fork();
    close(ends[pid == 0 ? 0 : 1]);
    if (pid < 0)
        close(ends[0]);
    else
        *ret = ends[pid == 0 ? 1 : 0];
    return pid;
}

/* The control data of a message, with room for one descriptor. */
union passed {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

bool channel_send(int fd, const struct message *message, const char *text, int passed)
{
    struct message copy = *message;
    struct iovec parts[] = {
        {.iov_base = &copy, .iov_len = sizeof copy},
        {.iov_base = (void *)(uintptr_t)text, .iov_len = text ? strlen(text) : 0},
    };
    union passed control = {.header = {.cmsg_len = CMSG_LEN(sizeof passed),
                                       .cmsg_level = SOL_SOCKET,
                                       .cmsg_type = SCM_RIGHTS}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = G_N_ELEMENTS(parts)};

    if (passed >= 0) {
        memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
        header.msg_control = &control;
        header.msg_controllen = sizeof control;
    }
    return sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

enum channel_received channel_receive(int fd, struct message *ret, char **ret_text, int *ret_passed)
{
    const ssize_t length = recv(fd, NULL, 0, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
    struct iovec parts[2];
    union passed control = {.room = ""};
    struct msghdr header = {.msg_iov = parts,
                            .msg_iovlen = G_N_ELEMENTS(parts),
                            .msg_control = &control,
                            .msg_controllen = sizeof control};

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return MESSAGE_NOTHING;
    if (length < (ssize_t)sizeof *ret)
        return MESSAGE_END;
    const size_t text_length = (size_t)length - sizeof *ret;
    *ret_text = g_malloc0(text_length + 1);
    parts[0] = (struct iovec){.iov_base = ret, .iov_len = sizeof *ret};
    parts[1] = (struct iovec){.iov_base = *ret_text, .iov_len = text_length};
    recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (ret_passed)
        *ret_passed = -1;
    if (ret_passed && CMSG_FIRSTHDR(&header))
        memcpy(ret_passed, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof *ret_passed);
    return MESSAGE_RECEIVED;
}

void channel_nudge(int fd)
{
    const char nothing = 0;

    send(fd, &nothing, sizeof nothing, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool channel_take_nudges(int fd)
{
    char nothing;
    ssize_t length;

    while ((length = recv(fd, &nothing, sizeof nothing, MSG_DONTWAIT)) > 0)
        continue;
    return length < 0 && (errno == EAGAIN || errno == EINTR);
}
