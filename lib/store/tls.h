/* TLS on connections of our own. libzookeeper does its own TLS, says only "error in ssl connect"
 * when it fails, and compares no name (3.8, 3.9). So zkl asks each server first: does it show a
 * certificate of the given authority for the name by which it is called, and does it accept ours?
 * The caller gets the reason why not. tls_openssl.c is the one file that knows OpenSSL; without a
 * libzookeeper that has TLS there is tls_none.c. */
#ifndef LIB_TLS_H
#define LIB_TLS_H

#include <stdbool.h>
#include <sys/types.h>

/* Names of PEM files; all or none. */
struct tls_files {
    char *ca, *cert, *key;
};

struct tls_files tls_files_copy(const struct tls_files *files); /* NULL: of none */
void tls_files_clear(struct tls_files *files);

/* Reads the files. Returns a sentence about what is wrong with them, to be freed; NULL: nothing. */
char *tls_files_check(const struct tls_files *files);

struct tls;        /* what all connections share */
struct tls_stream; /* one connection */

/* Makes what all connections share. Returns NULL if a file is wrong: then *ret_wrong is a sentence
 * about it, to be freed. */
struct tls *tls_new(const struct tls_files *files, char **ret_wrong);
void tls_free(struct tls *tls); /* NULL is fine */

/* Begins TLS with host on fd, which is the caller's, not blocking, and connected or about to be. */
struct tls_stream *tls_stream_new(struct tls *tls, int fd, const char *host);
void tls_stream_free(struct tls_stream *stream); /* NULL is fine */

enum tls_step {
    TLS_READS,  /* go on when fd can be read */
    TLS_WRITES, /* or written */
    TLS_READY,  /* the server is the one that it should be */
    TLS_FAILED
};
/* Goes on with the handshake. */
enum tls_step tls_shake_hands(struct tls_stream *stream);

/* Work like send(2) and recv(2). */
ssize_t tls_send(struct tls_stream *stream, const void *data, size_t size);
ssize_t tls_receive(struct tls_stream *stream, void *data, size_t size);

/* Says why the stream failed; NULL: it has not, or there was no connection. The text is valid as
 * long as the stream. */
const char *tls_why(const struct tls_stream *stream);

/* Whether the certificate is for another name, which libzookeeper would accept. */
bool tls_name_is_wrong(const struct tls_stream *stream);

#endif
