#include "fourletter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORD_MS = 5000 };

static bool wait_for(int fd, short events, int64_t deadline)
{
    for (;;) {
        int64_t left = (deadline - g_get_monotonic_time() + 999) / 1000;
        struct pollfd p = {.fd = fd, .events = events};
        int n = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (n >= 0 || errno != EINTR)
            return n > 0;
    }
}

static int connect_to(const char *host, int port, int64_t deadline)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
        return -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int err = 0;
    socklen_t length = sizeof(err);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    if (errno == EINPROGRESS && wait_for(fd, POLLOUT, deadline) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length) == 0 && err == 0)
        return fd;
    close(fd);
    return -1;
}

static char *read_all(int fd, int64_t deadline)
{
    GString *text = g_string_new(NULL);
    char buf[4096];
    while (wait_for(fd, POLLIN, deadline)) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n > 0) {
            g_string_append_len(text, buf, n);
        } else if (n == 0 && text->len > 0) {
            char *reply = strdup(text->str);
            g_string_free(text, TRUE);
            return reply;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            break;
        }
    }
    g_string_free(text, TRUE);
    return NULL;
}

char *fourletter_send(const char *host, int port, const char *word, int timeout_ms)
{
    int64_t deadline = g_get_monotonic_time() + (int64_t)timeout_ms * 1000;
    int fd = connect_to(host, port, deadline);
    if (fd < 0)
        return NULL;
    char *reply = NULL;
    if (send(fd, word, strlen(word), MSG_NOSIGNAL) == (ssize_t)strlen(word))
        reply = read_all(fd, deadline);
    close(fd);
    return reply;
}

char *fourletter(int port, const char *word)
{
    return fourletter_send("127.0.0.1", port, word, WORD_MS);
}

bool fourletter_mode(int port, char *buf, unsigned long size)
{
    return fourletter_mode_at("127.0.0.1", port, buf, size);
}

bool fourletter_mode_at(const char *host, int port, char *buf, unsigned long size)
{
    char *reply = fourletter_send(host, port, "srvr", WORD_MS);
    const char *mode = reply ? strstr(reply, "\nMode: ") : NULL;
    if (mode) {
        mode += strlen("\nMode: ");
        g_snprintf(buf, size, "%.*s", (int)strcspn(mode, "\n"), mode);
    }
    free(reply);
    return mode != NULL;
}

bool fourletter_wchs(int port, struct fourletter_watches *ret)
{
    char *reply = fourletter(port, "wchs");
    bool ok = reply && sscanf(reply, "%d connections watching %d paths Total watches:%d",
                              &ret->connections, &ret->paths, &ret->watches) == 3;
    free(reply);
    return ok;
}

/* wchp and wchc are blocks: a heading, then one indented line for each entry. */
static int count_in_block(int port, const char *word, const char *heading, const char *entry)
{
    char *reply = fourletter(port, word);
    if (!reply)
        return -1;
    int count = 0;
    bool inside = false;
    char **lines = g_strsplit(reply, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (**line != '\t')
            inside = strcmp(*line, heading) == 0;
        else if (inside && (!entry || strcmp(*line + 1, entry) == 0))
            count++;
    }
    g_strfreev(lines);
    free(reply);
    return count;
}

int fourletter_watches_on(int port, const char *path)
{
    return count_in_block(port, "wchp", path, NULL);
}

int fourletter_watches_of(int port, int64_t session)
{
    char heading[32];
    snprintf(heading, sizeof(heading), "0x%" PRIx64, (uint64_t)session);
    return count_in_block(port, "wchc", heading, NULL);
}

int fourletter_has_watch(int port, int64_t session, const char *path)
{
    char entry[32];
    snprintf(entry, sizeof(entry), "0x%" PRIx64, (uint64_t)session);
    return count_in_block(port, "wchp", path, entry);
}

int64_t fourletter_mntr(int port, const char *key)
{
    int64_t value = -1;
    char *reply = fourletter(port, "mntr");
    char **lines = g_strsplit(reply ? reply : "", "\n", -1);
    for (char **line = lines; *line; line++) {
        size_t length = strlen(key);
        if (strncmp(*line, key, length) == 0 && (*line)[length] == '\t')
            value = strtoll(*line + length + 1, NULL, 10);
    }
    g_strfreev(lines);
    free(reply);
    return value;
}
