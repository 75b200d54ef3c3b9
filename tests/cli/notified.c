/* notified ADDRESS: what a service manager hears at NOTIFY_SOCKET=ADDRESS, one datagram a line,
 * after "listening". */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = argc == 2 ? strlen(argv[1]) : 0;
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char text[4096];
    ssize_t got;

    if (length == 0 || length > sizeof address.sun_path)
        return 64;
    memcpy(address.sun_path, argv[1], length);
    if (argv[1][0] == '@')
        address.sun_path[0] = '\0';
    if (bind(fd, (const struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) != 0)
        return 69;
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("listening");
    while ((got = recv(fd, text, sizeof text, 0)) >= 0)
        printf("%.*s\n", (int)got, text);
    return 0;
}
