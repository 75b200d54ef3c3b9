#include "tls.h"

#include <glib.h>

struct tls *tls_new(const struct tls_files *files, char **ret_wrong)
{
    (void)files;
    *ret_wrong = g_strdup("this libzookeeper has no TLS: build ZooKeeper's C client with OpenSSL "
                          "(libssl-dev), then zkl with it (--with-zookeeper), or use a tunnel");
    return NULL;
}

void tls_free(struct tls *tls)
{
    (void)tls;
}

struct tls_stream *tls_stream_new(struct tls *tls, int fd, const char *host)
{
    (void)tls, (void)fd, (void)host;
    return NULL;
}

void tls_stream_free(struct tls_stream *stream)
{
    (void)stream;
}

enum tls_step tls_shake_hands(struct tls_stream *stream)
{
    (void)stream;
    return TLS_FAILED;
}

ssize_t tls_send(struct tls_stream *stream, const void *data, size_t size)
{
    (void)stream, (void)data, (void)size;
    return -1;
}

ssize_t tls_receive(struct tls_stream *stream, void *data, size_t size)
{
    (void)stream, (void)data, (void)size;
    return -1;
}

const char *tls_why(const struct tls_stream *stream)
{
    (void)stream;
    return NULL;
}

bool tls_name_is_wrong(const struct tls_stream *stream)
{
    (void)stream;
    return false;
}
