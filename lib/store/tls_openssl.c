#include "tls.h"

#include <errno.h>
#include <glib.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

struct tls {
    SSL_CTX *context;
};

struct tls_stream {
    SSL *ssl;
    char *why;
    bool ready, name_is_wrong;
};

/* ---- the files ---- */

/* Loads the files. Returns the name of the one that is wrong; NULL: none is. */
static const char *load_files(SSL_CTX *context, const struct tls_files *files)
{
    if (SSL_CTX_load_verify_locations(context, files->ca, NULL) != 1)
        return files->ca;
    if (SSL_CTX_use_certificate_chain_file(context, files->cert) != 1)
        return files->cert;
    if (SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        return files->key;
    return NULL;
}

/* Gives no passphrase, where OpenSSL itself would ask the terminal. */
static int no_passphrase(char *to, int size, int writes, void *data)
{
    (void)to, (void)size, (void)writes, (void)data;
    return 0;
}

struct tls *tls_new(const struct tls_files *files, char **ret_wrong)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    const char *wrong = load_files(context, files);
    if (wrong) {
        const char *text = ERR_reason_error_string(ERR_get_error()); /* of the oldest error */
        *ret_wrong = g_strdup_printf("%s: %s", wrong, text ? text : "it is not in PEM");
        ERR_clear_error();
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    struct tls *tls = g_new(struct tls, 1);
    tls->context = context;
    return tls;
}

void tls_free(struct tls *tls)
{
    if (tls)
        SSL_CTX_free(tls->context);
    g_free(tls);
}

/* ---- a connection ---- */

struct tls_stream *tls_stream_new(struct tls *tls, int fd, const char *host)
{
    struct tls_stream *stream = g_new0(struct tls_stream, 1);
    SSL *ssl = SSL_new(tls->context);

    stream->ssl = ssl;
    SSL_set_fd(ssl, fd);
    if (g_hostname_is_ip_address(host)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    } else {
        SSL_set_tlsext_host_name(ssl, host);
        SSL_set1_host(ssl, host);
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    }
    return stream;
}

void tls_stream_free(struct tls_stream *stream)
{
    if (!stream)
        return;
    SSL_free(stream->ssl);
    g_free(stream->why);
    g_free(stream);
}

/* Says why the stream failed; NULL: it had no connection. ready: the handshake was over. */
static char *explain_failure(const SSL *ssl, bool ready, int ssl_error)
{
    const long verified = SSL_get_verify_result(ssl);
    const unsigned long error = ERR_peek_error();
    const char *text = ERR_reason_error_string(error);
    const int reason = ERR_GET_REASON(error);
    const bool alert = ERR_GET_LIB(error) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET &&
                       reason < SSL_AD_REASON_OFFSET + 256;

    if (verified != X509_V_OK)
        return g_strdup_printf("its certificate is not accepted: %s",
                               X509_verify_cert_error_string(verified));
    if (alert)
        return g_strdup_printf("it does not accept our certificate or our TLS: %s", text);
    if (ready)
        return g_strdup("it closed the connection, perhaps because of our certificate");
    if (ssl_error == SSL_ERROR_SSL || ssl_error == SSL_ERROR_ZERO_RETURN)
        return g_strdup_printf("it does not speak TLS: %s", text ? text : "no reason given");
    return NULL; /* no connection */
}

/* Returns what comes after a call on the stream that returned result. If that is a failure, sets
 * .why. */
static enum tls_step step_after(struct tls_stream *stream, int result)
{
    const int error = SSL_get_error(stream->ssl, result);
    const long verified = SSL_get_verify_result(stream->ssl);

    if (error == SSL_ERROR_WANT_READ)
        return TLS_READS;
    if (error == SSL_ERROR_WANT_WRITE)
        return TLS_WRITES;
    if (!stream->why)
        stream->why = explain_failure(stream->ssl, stream->ready, error);
    stream->name_is_wrong =
        verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH;
    ERR_clear_error();
    return TLS_FAILED;
}

enum tls_step tls_shake_hands(struct tls_stream *stream)
{
    ERR_clear_error();
    const int result = SSL_connect(stream->ssl);
    if (result != 1)
        return step_after(stream, result);
    stream->ready = true;
    return TLS_READY;
}

ssize_t tls_send(struct tls_stream *stream, const void *data, size_t size)
{
    ERR_clear_error();
    const int result = SSL_write(stream->ssl, data, (int)size);
    if (result <= 0)
        step_after(stream, result);
    return result > 0 ? result : -1;
}

/* Treats a part of a record as nothing: -1, with EAGAIN. */
ssize_t tls_receive(struct tls_stream *stream, void *data, size_t size)
{
    ERR_clear_error();
    const int result = SSL_read(stream->ssl, data, (int)size);
    if (result > 0)
        return result;
    errno = EAGAIN;
    return step_after(stream, result) == TLS_FAILED ? 0 : -1;
}

const char *tls_why(const struct tls_stream *stream)
{
    return stream ? stream->why : NULL;
}

bool tls_name_is_wrong(const struct tls_stream *stream)
{
    return stream && stream->name_is_wrong;
}
