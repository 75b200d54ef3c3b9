/* Makes libzookeeper's handle: plain, or with TLS or SASL if it was built with that. Its function
 * for TLS takes no log function, so the handle gets that afterwards. Lines that come before would
 * go to stderr, so they are turned off. It has no function for TLS and SASL together. */
#include <glib.h>
#ifdef HAVE_ZOO_TLS
#define HAVE_OPENSSL_H 1
#endif
#ifdef HAVE_ZOO_SASL
#define HAVE_CYRUS_SASL_H 1
#include <sasl/sasl.h>
#endif
#include <pthread.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "lib/base/credentials.h"
#include "store_zk.h"

static const clientid_t *claimed(const struct store *store)
{
    return store->claimed.client_id != 0 ? &store->claimed : NULL;
}

#ifdef HAVE_ZOO_TLS
static zhandle_t *init_tls(struct store *store, const char *hosts, watcher_fn watcher)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* it uses strtok() */
    const struct tls_files *files = &store->tls;
    char *cert = g_strjoin(",", files->ca, files->cert, files->key, NULL);

    pthread_mutex_lock(&one_at_a_time);
    zoo_set_debug_level((ZooLogLevel)0); /* of all handles */
    zhandle_t *zh = zookeeper_init_ssl(hosts, cert, watcher, store->timeout_ms, claimed(store),
                                       store, ZOO_NO_LOG_CLIENTENV);
    if (zh)
        zoo_set_log_callback(zh, store_zk_log(store));
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    pthread_mutex_unlock(&one_at_a_time);
    g_free(cert);
    return zh;
}
#endif

#ifdef HAVE_ZOO_SASL
struct store_sasl {
    sasl_callback_t callbacks[5];
    char *user;
    sasl_secret_t *password;
    size_t size; /* of password */
};

static int give_user(void *context, int id, const char **result, unsigned *length)
{
    const struct store_sasl *sasl = context;

    if (id != SASL_CB_USER && id != SASL_CB_AUTHNAME)
        return SASL_BADPARAM;
    *result = sasl->user;
    if (length)
        *length = (unsigned)strlen(sasl->user);
    return SASL_OK;
}

static int give_password(sasl_conn_t *conn, void *context, int id, sasl_secret_t **ret)
{
    const struct store_sasl *sasl = context;

    if (!conn || id != SASL_CB_PASS)
        return SASL_BADPARAM;
    *ret = sasl->password;
    return SASL_OK;
}

/* The server's: there is one. */
static int give_realm(void *context, int id, const char **available, const char **result)
{
    (void)context, (void)id;
    *result = available && available[0] ? available[0] : "";
    return SASL_OK;
}

/* auth is "user:password". */
static struct store_sasl *sasl_new(const char *auth)
{
    struct store_sasl *sasl = g_new0(struct store_sasl, 1);
    const char *colon = strchr(auth, ':'), *password = colon ? colon + 1 : "";
    const size_t length = strlen(password);

    sasl->user = g_strndup(auth, colon ? (gsize)(colon - auth) : strlen(auth));
    sasl->size = sizeof *sasl->password + length + 1;
    sasl->password = g_malloc0(sasl->size);
    sasl->password->len = length;
    memcpy(sasl->password->data, password, length);
    const sasl_callback_t callbacks[] = {
        {SASL_CB_GETREALM, (int (*)(void))(uintptr_t)give_realm, sasl},
        {SASL_CB_USER, (int (*)(void))(uintptr_t)give_user, sasl},
        {SASL_CB_AUTHNAME, (int (*)(void))(uintptr_t)give_user, sasl},
        {SASL_CB_PASS, (int (*)(void))(uintptr_t)give_password, sasl},
        {SASL_CB_LIST_END, NULL, NULL}};
    memcpy(sasl->callbacks, callbacks, sizeof callbacks);
    return sasl;
}

static void load_plugins(void)
{
    sasl_client_init(NULL);
}

/* The name of the server is the one that every ZooKeeper has for DIGEST-MD5. */
static zhandle_t *init_sasl(struct store *store, const char *hosts, watcher_fn watcher)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    zoo_sasl_params_t params = {
        .service = "zookeeper", .host = "zk-sasl-md5", .mechlist = "DIGEST-MD5"};

    pthread_once(&once, load_plugins);
    params.callbacks = store->sasl->callbacks;
    return zookeeper_init_sasl(hosts, watcher, store->timeout_ms, claimed(store), store,
                               ZOO_NO_LOG_CLIENTENV, store_zk_log(store), &params);
}
#endif

struct store_sasl *store_zk_sasl_new(const struct credentials *all)
{
    struct store_sasl *sasl = NULL;

#ifdef HAVE_ZOO_SASL
    for (size_t i = 0; all && i < all->count && !sasl; i++) {
        if (strcmp(all->each[i].scheme, STORE_SASL) == 0)
            sasl = sasl_new(all->each[i].secret);
    }
#else
    (void)all;
#endif
    return sasl;
}

void store_zk_sasl_free(struct store_sasl *sasl)
{
#ifdef HAVE_ZOO_SASL
    if (!sasl)
        return;
    explicit_bzero(sasl->password, sasl->size);
    g_free(sasl->password);
    g_free(sasl->user);
    g_free(sasl);
#else
    (void)sasl;
#endif
}

const char *store_sasl_unsupported(void)
{
#ifdef HAVE_ZOO_SASL
    return NULL;
#else
    return "this libzookeeper has no SASL: build ZooKeeper's C client with Cyrus SASL "
           "(libsasl2-dev), then zkl with it (--with-zookeeper)";
#endif
}

zhandle_t *store_zk_init(struct store *store, const char *hosts, watcher_fn watcher)
{
#ifdef HAVE_ZOO_TLS
    if (store->tls.ca)
        return init_tls(store, hosts, watcher);
#endif
#ifdef HAVE_ZOO_SASL
    if (store->sasl)
        return init_sasl(store, hosts, watcher);
#endif
    return zookeeper_init2(hosts, watcher, store->timeout_ms, claimed(store), store,
                           ZOO_NO_LOG_CLIENTENV, store_zk_log(store));
}
