/* The real store, over libzookeeper_mt. Its hazards, and what keeps them out:
 * - it may lose completions at close and never give them after expiry: every request is in a
 *   registry of ours, failed from there, and freed only when libzookeeper can call no more;
 * - a call racing with zookeeper_close() uses freed memory: the handle is touched under the
 *   monitor, by libzookeeper's thread itself, by the connector while nobody else has it, or by a
 *   user who has borrowed it, for whom close waits; close takes it away under the monitor first;
 * - it resolves names in each round of its loop: it gets addresses, and the resolution delay of -1;
 * - of an even number of addresses it tries every other one: it gets an odd one;
 * - it ends the process when it is refused one of its two threads: two are tried before;
 * - init and close block (DNS, a mute server): a connector thread of the store does both;
 * - watch contexts may be used after removal: the context is the store, which outlives the handle;
 * - its sockets stay open in programs that are executed: each is closed on exec once connected;
 * - it comes to request numbers that mean something else: see store_zk_xid.h.
 *
 * Servers that the ensemble names are tried beside the user's, if it knows the server of our
 * connection by the address that we use; then as long as it names them. The connector decides which
 * servers are tried, since it may wait for names: a moment after news, and again while there is no
 * connection.
 *
 * The functions of the table store_zk are called with the monitor held. The functions that
 * libzookeeper calls take it, except for those that give it a name or a password. The
 * connector's thread alone reads files, resolves names and asks servers, and always without the
 * monitor: the functions called zk_servers_…, and others that say so.
 */
#ifdef HAVE_ZOO_TLS
#define HAVE_OPENSSL_H 1
#endif
#ifdef HAVE_ZOO_SASL
#define HAVE_CYRUS_SASL_H 1
#include <sasl/sasl.h>
#endif
#include <fcntl.h>
#include <glib.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include "lib/base/acl.h"
#include "lib/base/clock.h"
#include "lib/base/credentials.h"
#include "lib/base/log.h"
#include "lib/base/path.h"
#include "lib/base/thread.h"
#include "names.h"
#include "recipes/ensemble.h"
#include "store_zk.h"
#include "store_zk_xid.h"

/* The scheme of credentials that are not given to libzookeeper by zoo_add_auth(). */
#define STORE_SASL "sasl"

enum {
    RETRY_MS = 500,       /* between two attempts to make a handle */
    LOOK_MS = 300,        /* until the servers are asked why there is no first connection */
    ATTEMPT_LOOKS = 1000, /* how often we look whether libzookeeper begins to connect: for 50 ms */
    DRAIN_MS = 2000,      /* how long a close waits for answers under way */
    PROBES = 4, /* how often the servers are asked in a session timeout without a connection */
    STUCK_LOOK_MS = 1000, /* until libzookeeper may be waiting for the wrong server */
};

/* ---- sockets ----
 *
 * libzookeeper opens them without SOCK_CLOEXEC and shows them to nobody. We find them by the
 * server's address at the other end. A socket of the program's own to that port is hardly meant to
 * be inherited either. */

enum {
    STUCK_MS = 1000,
    AGAIN_MS = 1000,    /* at most until TCP sends what was lost again */
    SYN_SENT = 2,       /* as in netinet/tcp.h, which linux/tcp.h excludes */
    RTO_MAX_OPTION = 44 /* TCP_RTO_MAX_MS of Linux 6.15 */
};

/* Whether the server is at the other end of fd. getpeername() would say so only after the server
 * has answered. */
static bool socket_leads_to(int fd, const struct address *server)
{
    struct address peer = {.length = server->length};

    return getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &peer.bytes, &peer.length) == 0 &&
           peer.length == server->length && memcmp(&peer.bytes, &server->bytes, peer.length) == 0;
}

/* Marks fd to be closed on exec, if it leads to the server. It also shortens the time after which
 * TCP sends lost packets again, mostly 3 s and then 6 s: a deadline may come before. A kernel that
 * cannot change that time refuses.
 *
 * libzookeeper may close its descriptor before the flag is set, and another thread may get the
 * number: then the flag is taken back. */
static bool socket_mark(int fd, const void *server)
{
    const int again_ms = AGAIN_MS, before = fcntl(fd, F_GETFD);

    if (before < 0 || !socket_leads_to(fd, server))
        return false;
    setsockopt(fd, IPPROTO_TCP, RTO_MAX_OPTION, &again_ms, sizeof again_ms);
    const bool kept = fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
    if (kept && !(before & FD_CLOEXEC) && !socket_leads_to(fd, server))
        fcntl(fd, F_SETFD, before);
    return kept;
}

/* Whether the server has sent nothing. While TCP connects, the socket is stuck once TCP has
 * repeated its first packet. After that it is stuck if no byte has come, and we sent our last data
 * STUCK_MS ago or earlier. */
static bool socket_is_stuck(int fd)
{
    struct tcp_info info = {.tcpi_last_data_sent = 0};
    socklen_t length = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && length == sizeof info &&
           (info.tcpi_state == SYN_SENT
                ? info.tcpi_retransmits > 0
                : info.tcpi_bytes_received == 0 && info.tcpi_last_data_sent >= STUCK_MS);
}

static bool socket_leads_to_any(int fd, const GArray *servers)
{
    for (guint i = 0; i < servers->len; i++)
        if (socket_leads_to(fd, &g_array_index(servers, struct address, i)))
            return true;
    return false;
}

/* Ends the connection of fd, if it leads to one of the servers and is stuck. Works on a copy, since
 * libzookeeper may close its descriptor, and another thread may get the number. A copy of a file is
 * left open: to close it would end the record locks that this process has on that file. Passes over
 * a descriptor that is closed on exec: it is not libzookeeper's, or has been connected, see
 * socket_mark(). */
static bool socket_drop(int fd, const void *servers)
{
    struct stat of;

    if (fcntl(fd, F_GETFD) != 0 || !socket_leads_to_any(fd, servers))
        return false;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0 || fstat(copy, &of) != 0 || !S_ISSOCK(of.st_mode))
        return false;
    const bool dropped = socket_leads_to_any(copy, servers) && socket_is_stuck(copy) &&
                         shutdown(copy, SHUT_RDWR) == 0;
    close(copy);
    return dropped;
}

/* Calls fn for each descriptor of this process. Returns whether fn was true of one. */
static bool socket_for_each(bool (*fn)(int fd, const void *data), const void *data)
{
    GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
    const char *name;
    bool any = false;

    while (dir && (name = g_dir_read_name(dir)))
        any |= fn(atoi(name), data);
    if (dir)
        g_dir_close(dir);
    return any;
}

bool store_zk_drop_stuck(const GArray *servers)
{
    return socket_for_each(socket_drop, servers);
}

/* ---- answers ---- */

/* A request that libzookeeper was given. */
struct sent {
    struct store *store;
    GList link;
    store_done done; /* NULL: answered by us already */
    void *context;
    char *asked;              /* CREATE: the path */
    int count;                /* MULTI */
    zoo_op_result_t *results; /* libzookeeper writes to them until it has answered */
};

static void store_zk_sent_free(struct sent *sent)
{
    g_free(sent->asked);
    g_free(sent->results);
    g_free(sent);
}

/* Servers have these codes, and this libzookeeper may have no names for them. */
enum {
    CODE_UNKNOWN_SESSION = -12, /* to a request that came while the session was ended */
    CODE_REQUEST_TIMEOUT = -122,
    CODE_CREDENTIALS_DEMANDED = -124,
    CODE_QUOTA_EXCEEDED = -125,
    CODE_THROTTLED = -127
};

enum store_rc store_zk_map_rc(int rc)
{
    switch (rc) {
    case ZOK:
        return STORE_OK;
    case ZNONODE:
        return STORE_NONODE;
    case ZNODEEXISTS:
        return STORE_EXISTS;
    case ZBADVERSION:
        return STORE_BADVERSION;
    case ZNOAUTH:
    case ZINVALIDACL: /* "auth" without credentials, or a scheme the server does not have */
    case CODE_QUOTA_EXCEEDED:
        return STORE_NOAUTH;
    case ZNOCHILDRENFOREPHEMERALS:
        return STORE_NOCHILDREN;
    case ZNOTEMPTY:
        return STORE_NOTEMPTY;
    case ZUNIMPLEMENTED:
        return STORE_UNIMPLEMENTED;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZRUNTIMEINCONSISTENCY:
    case ZMARSHALLINGERROR:
    case ZINVALIDSTATE:
    case ZSESSIONEXPIRED: /* the event decides, and it follows */
    case CODE_UNKNOWN_SESSION:
    case ZCLOSING:
    case ZSESSIONMOVED:
    case ZSYSTEMERROR: /* a socket's, with requests under way */
    case ZAUTHFAILED:
    case CODE_REQUEST_TIMEOUT:
    case CODE_CREDENTIALS_DEMANDED: /* store_zk_finish() says more */
    case CODE_THROTTLED:
        return STORE_UNKNOWN;
    default:
        return STORE_BAD;
    }
}

static void store_zk_session_event(struct store *store, zhandle_t *zh, int state);

/* Tells the asker *reply, with the result rc of libzookeeper. Takes the monitor. */
static void store_zk_finish(const void *data, struct store_reply *reply, int rc)
{
    struct sent *sent = (struct sent *)(uintptr_t)data;
    struct store *store = sent->store;

    reply->rc = store_zk_map_rc(rc);
    reply->why = rc == ZINVALIDACL           ? REFUSAL_ACL
                 : rc == CODE_QUOTA_EXCEEDED ? REFUSAL_QUOTA
                                             : REFUSAL_PERMISSION;
    pthread_mutex_lock(store->sink.monitor);
    /* This server answers so on each connection, and then ends it. */
    if (rc == CODE_CREDENTIALS_DEMANDED && !store->over && !store->closing)
        store_zk_session_event(store, NULL, ZOO_AUTH_FAILED_STATE);
    g_queue_unlink(&store->sent, &sent->link);
    if (sent->done)
        sent->done(sent->context, reply);
    if (store->closing)
        pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(store->sink.monitor);
    store_zk_sent_free(sent);
}

/* Ends each request with the answer STORE_GONE. libzookeeper may call its completion later all the
 * same. */
static void store_zk_fail_all(struct store *store)
{
    const struct store_reply gone = {.rc = STORE_GONE};

    for (GList *l = store->sent.head; l; l = l->next) {
        struct sent *sent = l->data;
        store_done done = sent->done;
        sent->done = NULL;
        if (done)
            done(sent->context, &gone);
    }
}

static void store_zk_note_zxid(struct store *store, int64_t zxid)
{
    if ((uint64_t)zxid > store->seen)
        store->seen = (uint64_t)zxid;
}

static void store_zk_use_stat(const void *data, struct store_reply *reply, const struct Stat *stat)
{
    const struct sent *sent = data;

    if (!stat)
        return;
    store_zk_note_zxid(sent->store, stat->czxid);
    store_zk_note_zxid(sent->store, stat->mzxid);
    store_zk_note_zxid(sent->store, stat->pzxid);
    reply->czxid = (uint64_t)stat->czxid;
    reply->mzxid = (uint64_t)stat->mzxid;
    reply->pzxid = (uint64_t)stat->pzxid;
    reply->version = stat->version;
    reply->ephemeral_owner = stat->ephemeralOwner;
    reply->ctime_ms = stat->ctime;
    reply->mtime_ms = stat->mtime;
    reply->children = stat->numChildren;
    reply->data_length = stat->dataLength;
}

/* Refuses an answer that is cut short, or lies about its lengths. libzookeeper ignores how far it
 * came in reading one, and hands over what it has as if that were good. The node's stat, which
 * comes last in such an answer, was not read either. */
int store_zk_check_names(int rc, const struct String_vector *names)
{
    if (rc != ZOK)
        return rc;
    if (!names || names->count < 0 || (names->count > 0 && !names->data))
        return ZMARSHALLINGERROR;
    for (int32_t i = 0; i < names->count; i++) {
        if (!names->data[i])
            return ZMARSHALLINGERROR;
    }
    return ZOK;
}

int store_zk_check_data(int rc, const char *value, int length)
{
    return rc == ZOK && (length < -1 || (length > 0 && !value)) ? ZMARSHALLINGERROR : rc;
}

/* Refuses a path that is not the one asked for, with a number at most. */
int store_zk_check_path(int rc, const char *path, const char *asked)
{
    const size_t length = strlen(asked);

    if (rc != ZOK)
        return rc;
    return path && strncmp(path, asked, length) == 0 && !strchr(path + length, '/')
               ? ZOK
               : ZMARSHALLINGERROR;
}

static void store_zk_on_created(int rc, const char *path, const struct Stat *stat, const void *data)
{
    const struct sent *sent = data;
    struct store_reply reply = {.path = path};

    rc = store_zk_check_path(rc, path, sent->asked);
    if (rc == ZOK)
        store_zk_use_stat(data, &reply, stat);
    store_zk_finish(data, &reply, rc);
}

static void store_zk_on_created_plain(int rc, const char *path, const void *data)
{
    const struct sent *sent = data;

    rc = store_zk_check_path(rc, path, sent->asked);
    store_zk_finish(data, &(struct store_reply){.path = path}, rc);
}

static void store_zk_on_data(int rc, const char *value, int length, const struct Stat *stat,
                             const void *data)
{
    struct store_reply reply = {.data = value, .length = length > 0 ? length : 0};

    rc = store_zk_check_data(rc, value, length);
    if (rc == ZOK)
        store_zk_use_stat(data, &reply, stat);
    store_zk_finish(data, &reply, rc);
}

static void store_zk_on_names(int rc, const struct String_vector *names, const struct Stat *stat,
                              const void *data)
{
    struct store_reply reply = {.names = NULL};

    rc = store_zk_check_names(rc, names);
    if (rc == ZOK) {
        store_zk_use_stat(data, &reply, stat);
        reply.names = names->data;
        reply.count = names->count;
    }
    store_zk_finish(data, &reply, rc);
}

static void store_zk_on_void(int rc, const void *data)
{
    store_zk_finish(data, &(struct store_reply){.path = NULL}, rc);
}

static void store_zk_on_stat(int rc, const struct Stat *stat, const void *data)
{
    struct store_reply reply = {.path = NULL};

    if (rc == ZOK)
        store_zk_use_stat(data, &reply, stat);
    store_zk_finish(data, &reply, rc);
}

static void store_zk_on_string(int rc, const char *value, const void *data)
{
    (void)value;
    store_zk_on_void(rc, data);
}

/* Finds the change that was refused: its result is rc. The results of the changes after it are -2,
 * of those before it 0. */
static void store_zk_on_multi(int rc, const void *data)
{
    const struct sent *sent = data;
    struct store_reply reply = {.failed = 0};

    while (rc != ZOK && reply.failed < sent->count - 1 && sent->results[reply.failed].err != rc)
        reply.failed++;
    store_zk_finish(data, &reply, rc);
}

/* ---- what libzookeeper tells of its session, and of nodes that are watched ---- */

static void store_zk_drop_credentials(struct store *store)
{
    credentials_unref(store->credentials);
    store->credentials = NULL;
}

/* Gives libzookeeper the credentials that it has not got, and then drops ours: libzookeeper has its
 * own copy, for the connections to come. */
static void store_zk_give_credentials(struct store *store)
{
    const struct credentials *all = store->credentials;

    for (; all && store->given < all->count; store->given++) {
        const struct credential *c = &all->each[store->given];
        if (strcmp(c->scheme, STORE_SASL) == 0)
            continue;
        /* This request has no completion, because libzookeeper would call it under its own lock. A
         * refusal comes as an event. */
        int rc = zoo_add_auth(store->zh, c->scheme, c->secret, (int)strlen(c->secret), NULL, NULL);
        if (rc == ZINVALIDSTATE)
            return;
    }
    store_zk_drop_credentials(store);
}

/* Tells the session that libzookeeper's state is now state. The caller holds the monitor. */
static void store_zk_session_event(struct store *store, zhandle_t *zh, int state)
{
    void *context = store->sink.context;

    store->away = false;
    store->up = state == ZOO_CONNECTED_STATE;
    if (store->up) {
        store->connections++;
        store->rounds = 0;
        store->dropped = 0;
        store_zk_give_credentials(store);
        store->sink.event(context, STORE_EV_UP, zoo_client_id(zh)->client_id, zoo_recv_timeout(zh));
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        store->over = true;
        store_zk_fail_all(store);
        store->sink.event(context, STORE_EV_EXPIRED, 0, 0);
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        store->over = true;
        store_zk_fail_all(store);
        store->sink.event(context, STORE_EV_AUTH, 0, 0);
    } else {
        store->away = true;
        pthread_cond_broadcast(&store->wake);
        store->sink.event(context, STORE_EV_DOWN, 0, 0);
    }
}

/* Translates an event of libzookeeper. Returns false if it is none of a watch. */
static bool store_zk_to_fired(int type, enum store_fired *ret)
{
    *ret = type == ZOO_DELETED_EVENT   ? STORE_FIRED_GONE
           : type == ZOO_CHILD_EVENT   ? STORE_FIRED_CHILDREN
           : type == ZOO_CREATED_EVENT ? STORE_FIRED_CREATED
                                       : STORE_FIRED_CHANGED;
    return *ret != STORE_FIRED_CHANGED || type == ZOO_CHANGED_EVENT;
}

/* The watcher of the session and of every node. All watches have this one pair of function and
 * context, so libzookeeper calls it once for each event, however many watches there are.
 * libzookeeper may call it before zookeeper_init() has returned the handle. A connection that has
 * just been made is kept from programs that this process executes, without the monitor held. */
static void store_zk_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    struct store *store = context;
    enum store_fired fired;
    struct address server = {.length = sizeof server.bytes};
    const bool connected = type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE;

    if (connected &&
        zookeeper_get_connected_host(zh, (struct sockaddr *)&server.bytes, &server.length))
        socket_for_each(socket_mark, &server);
    else
        server.length = 0;
    pthread_mutex_lock(store->sink.monitor);
    if (!store->closing && !store->over) {
        store->zh = zh;
        if (connected) {
            store->server = server;
            store->strays = false;
        }
        if (type == ZOO_SESSION_EVENT)
            store_zk_session_event(store, zh, state);
        else if (store_zk_to_fired(type, &fired))
            store->sink.watch(store->sink.context, path, fired);
    }
    pthread_mutex_unlock(store->sink.monitor);
}

/* ---- requests ---- */

static int store_zk_start_create(struct store *store, const struct store_request *r,
                                 struct sent *sent)
{
    int mode = r->mode == STORE_EPHEMERAL_SEQUENTIAL ? ZOO_EPHEMERAL_SEQUENTIAL
               : r->mode == STORE_EPHEMERAL          ? ZOO_EPHEMERAL
                                                     : ZOO_PERSISTENT;

#ifdef HAVE_ZOO_CONTAINER
    if (r->mode == STORE_CONTAINER)
        mode = ZOO_CONTAINER;
#endif
    sent->asked = g_strdup(r->path);
    if (r->plain)
        return zoo_acreate(store->zh, r->path, r->data, r->length, &store->acl, mode,
                           store_zk_on_created_plain, sent);
    return zoo_acreate2(store->zh, r->path, r->data, r->length, &store->acl, mode,
                        store_zk_on_created, sent);
}

static int store_zk_start_multi(struct store *store, const struct store_request *r,
                                struct sent *sent)
{
    zoo_op_t *ops = g_new0(zoo_op_t, (gsize)r->count);

    sent->count = r->count;
    sent->results = g_new0(zoo_op_result_t, (gsize)r->count);
    for (int i = 0; i < r->count; i++) {
        const struct store_change *c = &r->changes[i];
        switch (c->kind) {
        case STORE_CREATE:
            zoo_create_op_init(&ops[i], c->path, c->data, c->length, &store->acl, ZOO_PERSISTENT,
                               NULL, 0);
            break;
        case STORE_SET:
            zoo_set_op_init(&ops[i], c->path, c->data, c->length, c->version, NULL);
            break;
        case STORE_DELETE:
            zoo_delete_op_init(&ops[i], c->path, c->version);
            break;
        default:
            zoo_check_op_init(&ops[i], c->path, c->version);
            break;
        }
    }
    int rc = zoo_amulti(store->zh, r->count, ops, sent->results, store_zk_on_multi, sent);
    g_free(ops);
    return rc;
}

/* Hands a request to libzookeeper. Returns libzookeeper's code. */
static int store_zk_start_request(struct store *store, const struct store_request *r,
                                  struct sent *sent)
{
    const ZooWatcherType type = r->of_list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA;
    /* The header asks for a pointer to the function pointer, the code wants the function. */
    void_completion_t *removed = (void_completion_t *)(uintptr_t)store_zk_on_void;

    switch (r->kind) {
    case STORE_CREATE:
        return store_zk_start_create(store, r, sent);
    case STORE_DELETE:
        return zoo_adelete(store->zh, r->path, -1, store_zk_on_void, sent);
    case STORE_GET:
        return r->watch
                   ? zoo_awget(store->zh, r->path, store_zk_event, store, store_zk_on_data, sent)
                   : zoo_aget(store->zh, r->path, 0, store_zk_on_data, sent);
    case STORE_LIST:
        return r->watch ? zoo_awget_children2(store->zh, r->path, store_zk_event, store,
                                              store_zk_on_names, sent)
                        : zoo_aget_children2(store->zh, r->path, 0, store_zk_on_names, sent);
    case STORE_SYNC:
        return zoo_async(store->zh, r->path, store_zk_on_string, sent);
    case STORE_SET:
        return zoo_aset(store->zh, r->path, r->data, r->length, r->version, store_zk_on_stat, sent);
    case STORE_UNWATCH:
        /* Removes all watches of the path, on the server too. If the handle was lent, it removes
         * ours alone, since the borrower may have one. The server then keeps its watch until that
         * fires or the connection ends. */
        return store->lent ? zoo_aremove_watches(store->zh, r->path, type, store_zk_event, store, 0,
                                                 removed, sent)
                           : zoo_aremove_all_watches(store->zh, r->path, type, 0, removed, sent);
    case STORE_MULTI:
        return store_zk_start_multi(store, r, sent);
    case STORE_STAT:
        return r->watch
                   ? zoo_awexists(store->zh, r->path, store_zk_event, store, store_zk_on_stat, sent)
                   : zoo_aexists(store->zh, r->path, 0, store_zk_on_stat, sent);
    }
    return ZBADARGUMENTS;
}

/* Takes a MULTI only if the handle is CONNECTED: on one that is expired or refused zoo_amulti()
 * frees what it never set. A connected handle needs another connection to become expired or
 * refused, so this thread would have to stand still in the call for as long as that takes. */
static bool store_zk_submit(struct store *store, const struct store_request *request,
                            store_done done, void *context)
{
    struct sent *sent;

    if (!store->zh || store->over)
        return false;
    if (request->kind == STORE_MULTI && zoo_state(store->zh) != ZOO_CONNECTED_STATE)
        return false;
    sent = g_new0(struct sent, 1);
    sent->store = store;
    sent->link.data = sent;
    sent->done = done;
    sent->context = context;
    /* The completion unlinks sent. It waits for the monitor, which the caller holds. */
    g_queue_push_tail_link(&store->sent, &sent->link);
    xid_enter();
    int rc = store_zk_start_request(store, request, sent);
    xid_leave();
    if (rc == ZOK)
        return true;
    g_queue_unlink(&store->sent, &sent->link);
    store_zk_sent_free(sent);
    const struct store_reply reply = {.rc = store_zk_map_rc(rc)};
    if (reply.rc == STORE_UNKNOWN)
        return false;
    done(context, &reply);
    return true;
}

/* ---- servers, and why there is no connection: without the monitor held, unless it is said ---- */

/* HEARD_MS: how long after news the connector acts on it. A session that is only used for a command
 * has ended before that. */
enum { HEARD_MS = 1000, CONFIG_MAX = 64 * 1024 };

/* unusable: as of store_sink.trouble. */
static void store_zk_tell_trouble(struct store *store, enum store_trouble trouble,
                                  const char *unusable)
{
    pthread_mutex_lock(store->sink.monitor);
    if (!store->closing && store->sink.trouble)
        store->sink.trouble(store->sink.context, trouble, unusable);
    pthread_mutex_unlock(store->sink.monitor);
}

/* Fills in *tls for connections of our own. Reads the files each time, since certificates are
 * renewed. Returns tls; or NULL if the store has no TLS, or if a file is wrong, which tls->why
 * says. */
static struct probe_tls *store_zk_use_tls(const struct store *store, struct probe_tls *tls)
{
    *tls = (struct probe_tls){NULL, NULL};
    if (store->tls.ca)
        tls->tls = tls_new(&store->tls, &tls->why);
    return tls->tls ? tls : NULL;
}

/* Frees what *tls has. */
static void store_zk_end_tls(struct probe_tls *tls)
{
    tls_free(tls->tls);
    g_free(tls->why);
}

/* ---- addresses ---- */

/* Takes a list of addresses, and repeats one if their number is even. After each failure
 * libzookeeper passes over the next server of its list (ZOOKEEPER-2466). With an even number it
 * would try only every other one, for ever, and never pause. */
static char *zk_servers_make_odd(char *addresses)
{
    if (names_count(addresses) % 2 == 1)
        return addresses;
    const char *second = strchr(addresses, ',');
    char *odd = g_strdup_printf("%s,%.*s", addresses, (int)(second - addresses), addresses);
    g_free(addresses);
    return odd;
}

/* Returns the addresses of the hosts, an array of struct address. Blocks. */
static GArray *zk_servers_find_all(const char *hosts)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(struct address));

    for (guint i = 0; list[i]; i++) {
        GArray *found = names_find(list[i]);
        if (found->len > 0)
            g_array_append_vals(all, found->data, found->len);
        g_array_unref(found);
    }
    g_strfreev(list);
    return all;
}

/* Returns "address:port,…" of the hosts; to be freed. Blocks. */
static char *zk_servers_resolve(const char *hosts)
{
    GArray *found = zk_servers_find_all(hosts);
    GString *all = g_string_new(NULL);

    for (guint i = 0; i < found->len; i++)
        names_append(all, &g_array_index(found, struct address, i));
    g_array_unref(found);
    return g_string_free(all, FALSE);
}

/* Takes a list of the user's, and appends the servers that the ensemble names. */
static char *zk_servers_append_added(char *hosts, const struct store *store)
{
    if (!store->added)
        return hosts;
    char *all = g_strdup_printf("%s%s%s", hosts, hosts[0] ? "," : "", store->added);
    g_free(hosts);
    return all;
}

static char *zk_servers_resolve_all(const struct store *store)
{
    return zk_servers_append_added(zk_servers_resolve(store->hosts), store);
}

/* ---- a server that does not answer ---- */

/* Called without a connection. If zh waits for a server that does not answer, while another server
 * answers, this ends zh's connection, and zh goes on to the next server. The caller holds the
 * monitor, which is given up to ask them. The servers that the ensemble names are asked, too: one
 * of them may be the one that serves, or that does not answer.
 *
 * It drops as many connections as there are addresses, and then no more: if servers need so long to
 * answer, clients that begin again and again make it worse. The pauses begin anew, since a server
 * answers. */
static void store_zk_pass_on(struct store *store, zhandle_t *zh)
{
    const int state = zoo_state(zh);

    /* zh pauses, or has dropped as many connections as it may. */
    if (state <= 0 || state == ZOO_NOTCONNECTED_STATE || store->dropped >= store->servers)
        return;
    pthread_mutex_unlock(store->sink.monitor);
    struct probe_tls tls, *used = store_zk_use_tls(store, &tls);
    char *all = zk_servers_append_added(g_strdup(store->hosts), store);
    const bool serves = !tls.why && probe_serves(all, used);
    GArray *servers = serves ? zk_servers_find_all(all) : NULL;
    const bool dropped = serves && store_zk_drop_stuck(servers);
    store_zk_end_tls(&tls);
    if (servers)
        g_array_unref(servers);
    g_free(all);
    pthread_mutex_lock(store->sink.monitor);
    store->dropped += dropped;
    if (dropped)
        store->rounds = 0;
}

/* ---- finding them ---- */

/* Returns the addresses that libzookeeper may be given, an odd number, for the caller to free.
 * Returns NULL if there are none, and then *ret is the event that says why. again: servers that
 * were silent are asked once more; if no ZooKeeper answers, it returns NULL, and the list stays as
 * it was. Blocks. */
static char *zk_servers_find_hosts(struct store *store, enum store_event *ret, bool again)
{
    struct probe_found found = {.named = true};
    char *resolved = zk_servers_resolve_all(store); /* a later change is found the next time */
    struct probe_tls tls, *used = store_zk_use_tls(store, &tls);
    char *hosts = tls.why ? NULL : probe_hosts(store->hosts, used, &found);

    *ret = !found.named                                        ? STORE_EV_HOST
           : store->tls.ca && found.trouble != TROUBLE_FOREIGN ? STORE_EV_DOWN
                                                               : STORE_EV_FOREIGN;
    store_zk_tell_trouble(store, found.trouble, hosts ? NULL : tls.why);
    store_zk_end_tls(&tls);
    if (!hosts || (again && !found.answered)) {
        g_free(resolved);
        g_free(hosts);
        return NULL;
    }
    if (found.foreign && !again) {
        char *shown = path_show_hosts(store->hosts), *good = path_show_hosts(hosts);
        log_line(store->log, ZKL_LOG_WARN, "not-zookeeper", NULL,
                 "of %s only %s are ZooKeeper servers", shown, good);
        g_free(shown);
        g_free(good);
    }
    g_free(store->resolved);
    store->resolved = resolved;
    store->silent = found.silent;
    return zk_servers_make_odd(zk_servers_append_added(hosts, store));
}

/* Finds the addresses again. If they are others than the last time, or servers were silent, the
 * library gets them at its next failure, and its pause ends. Blocks. The caller holds the monitor,
 * which is given up while this blocks. */
static void store_zk_follow_names(struct store *store)
{
    enum store_event ignored;
    char *hosts = NULL;

    pthread_mutex_unlock(store->sink.monitor);
    char *resolved = zk_servers_resolve_all(store);
    const bool moved = g_strcmp0(resolved, store->resolved) != 0;
    if (moved || store->silent)
        hosts = zk_servers_find_hosts(store, &ignored, !moved);
    g_free(resolved);
    if (moved && hosts)
        log_line(store->log, ZKL_LOG_INFO, "servers-changed", NULL, "the servers are now %s",
                 hosts);
    pthread_mutex_lock(store->sink.monitor);
    if (!hosts)
        return;
    g_free(store->newer);
    store->newer = hosts;
    pthread_cond_broadcast(&store->wake);
}

/* ---- news of the servers, with the monitor held ---- */

/* Puts news in the place of *what, for the connector to act on in a moment. */
static void store_zk_take_news(struct store *store, char **what, char *news)
{
    g_free(*what);
    *what = news;
    store->heard = true;
    store->heard_at = clock_after_ms(HEARD_MS);
    pthread_cond_broadcast(&store->wake);
}

static void store_zk_set_hosts(struct store *store, const char *hosts)
{
    store_zk_take_news(store, &store->next_hosts, g_strdup(hosts));
}

static void store_zk_hear_config(struct store *store, const char *config, int length)
{
    store_zk_take_news(store, &store->config,
                       g_strndup(config, (gsize)CLAMP(length, 0, CONFIG_MAX)));
}

static bool store_zk_strays(const struct store *store)
{
    return store->strays;
}

bool store_zk_take_hosts(struct store *store)
{
    if (!store->next_hosts)
        return false;
    g_free(store->hosts);
    store->hosts = g_steal_pointer(&store->next_hosts);
    return true;
}

/* ---- what the ensemble names ---- */

static void zk_servers_append(GString *list, const char *address)
{
    g_string_append_printf(list, "%s%s", list->len ? "," : "", address);
}

/* Appends the addresses of the ensemble's servers to all, and of those that vote to voters. */
static void zk_servers_find_members(const char *config, GString *all, GString *voters)
{
    struct ensemble_member members[ENSEMBLE_MAX];
    const size_t count = ensemble_read(config, strlen(config), members);

    for (size_t i = 0; i < count; i++) {
        const struct ensemble_member *m = &members[i];
        char *name = g_strdup_printf("%.*s:%.*s", m->host_length, m->host, m->port_length, m->port);
        char *found = zk_servers_resolve(name);
        if (found[0]) {
            zk_servers_append(all, found);
            if (m->votes)
                zk_servers_append(voters, found);
        }
        g_free(found);
        g_free(name);
    }
}

/* Returns which voters are tried beside the user's servers, own; NULL: none. A server that was not
 * asked yet must answer first, since libzookeeper does not survive an answer of another program,
 * and waits long for a silent server. known: the ensemble knows server, our own. */
static char *zk_servers_choose_voters(const struct store *store, const char *own,
                                      const char *voters, const char *server, bool known)
{
    GString *chosen = g_string_new(NULL), *asked = g_string_new(NULL);
    char **list = g_strsplit(voters, ",", -1);

    for (guint i = 0; list[i]; i++) {
        const enum ensemble_use use =
            ensemble_uses(list[i], own, store->added ? store->added : "", server, known);
        if (use != ENSEMBLE_LEFT)
            zk_servers_append(use == ENSEMBLE_KEPT ? chosen : asked, list[i]);
    }
    char *answering = asked->len ? probe_answering(asked->str) : NULL;
    if (answering)
        zk_servers_append(chosen, answering);
    g_free(answering);
    g_strfreev(list);
    g_string_free(asked, TRUE);
    return g_string_free(chosen, chosen->len == 0);
}

/* Decides which servers are added to the user's. Returns whether these are others than before. */
static bool zk_servers_decide_added(struct store *store, const char *config,
                                    const struct address *server)
{
    GString *name = g_string_new(NULL), *all = g_string_new(NULL), *voters = g_string_new(NULL);
    char *own = zk_servers_resolve(store->hosts);

    names_append(name, server);
    zk_servers_find_members(config, all, voters);
    const bool strays = !ensemble_knows(own, name->str);
    pthread_mutex_lock(store->sink.monitor);
    if (server->length == store->server.length &&
        memcmp(&server->bytes, &store->server.bytes, server->length) == 0)
        store->strays = strays; /* there is no connection to another server since then */
    pthread_mutex_unlock(store->sink.monitor);
    if (ensemble_knows(all->str, name->str)) {
        g_free(store->members);
        store->members = g_strdup(all->str);
    }
    /* A server that was removed goes on, and tells of the servers that have taken its place. */
    const bool known = store->members && ensemble_knows(store->members, name->str);
    char *chosen = zk_servers_choose_voters(store, own, voters->str, name->str, known);
    const bool changed = g_strcmp0(store->added, chosen) != 0;
    g_free(store->added);
    store->added = chosen;
    g_free(own);
    g_string_free(voters, TRUE);
    g_string_free(all, TRUE);
    g_string_free(name, TRUE);
    return changed;
}

/* Decides anew which servers are tried beside the user's; false: the same ones. Blocks. The caller
 * holds the monitor, which is given up while this blocks. */
static bool store_zk_follow_ensemble(struct store *store)
{
    const struct address server = store->server;
    char *config = g_strdup(store->config);

    store->heard = false;
    if (!config)
        return false;
    pthread_mutex_unlock(store->sink.monitor);
    const bool changed = zk_servers_decide_added(store, config, &server);
    pthread_mutex_lock(store->sink.monitor);
    g_free(config);
    return changed;
}

/* ---- the handle: plain, or with TLS or SASL if libzookeeper was built with that ----
 *
 * libzookeeper's function for TLS takes no log function, so the handle gets that afterwards. Lines
 * that come before would go to stderr, so they are turned off. It has no function for TLS and SASL
 * together. */

static const clientid_t *claimed_session(const struct store *store)
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
    zoo_set_debug_level((ZooLogLevel)0); /* the level of all handles */
    zhandle_t *zh = zookeeper_init_ssl(hosts, cert, watcher, store->timeout_ms,
                                       claimed_session(store), store, ZOO_NO_LOG_CLIENTENV);
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

/* Gives the realm that the server names: there is one. */
static int give_realm(void *context, int id, const char **available, const char **result)
{
    (void)context, (void)id;
    *result = available && available[0] ? available[0] : "";
    return SASL_OK;
}

/* Makes the user and the password that libzookeeper asks for from auth, "user:password". */
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

/* Makes a handle with SASL. With DIGEST-MD5 every ZooKeeper server calls itself zk-sasl-md5,
 * whatever its host is. */
static zhandle_t *init_sasl(struct store *store, const char *hosts, watcher_fn watcher)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    zoo_sasl_params_t params = {
        .service = "zookeeper", .host = "zk-sasl-md5", .mechlist = "DIGEST-MD5"};

    pthread_once(&once, load_plugins);
    params.callbacks = store->sasl->callbacks;
    return zookeeper_init_sasl(hosts, watcher, store->timeout_ms, claimed_session(store), store,
                               ZOO_NO_LOG_CLIENTENV, store_zk_log(store), &params);
}
#endif

/* Returns what SASL needs of the credentials; NULL: there are none for it. It must outlive the
 * handle. */
static struct store_sasl *store_zk_sasl_new(const struct credentials *all)
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

static void store_zk_sasl_free(struct store_sasl *sasl)
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

/* Does what zookeeper_init2() does, with the store's TLS or SASL. */
static zhandle_t *store_zk_init(struct store *store, const char *hosts, watcher_fn watcher)
{
#ifdef HAVE_ZOO_TLS
    if (store->tls.ca)
        return init_tls(store, hosts, watcher);
#endif
#ifdef HAVE_ZOO_SASL
    if (store->sasl)
        return init_sasl(store, hosts, watcher);
#endif
    return zookeeper_init2(hosts, watcher, store->timeout_ms, claimed_session(store), store,
                           ZOO_NO_LOG_CLIENTENV, store_zk_log(store));
}

/* ---- the connector: making the handle ---- */

/* Called when libzookeeper can call no more. */
static void store_zk_free(struct store *store)
{
    for (GList *l = store->sent.head, *next; l; l = next) {
        next = l->next;
        store_zk_sent_free(l->data);
    }
    store_zk_end_log(store);
    g_free(store->resolved);
    g_free(store->newer);
    g_free(store->added);
    g_free(store->members);
    g_free(store->next_hosts);
    g_free(store->config);
    pthread_cond_destroy(&store->wake);
    g_free(store->acl.data);
    g_array_unref(store->acl_entries);
    g_free(store->hosts);
    store_zk_drop_credentials(store);
    store_zk_sasl_free(store->sasl);
    tls_files_clear(&store->tls);
    g_free(store);
}

/* Makes the handle. Blocks; the caller does not hold the monitor. If *ret is NULL, returns the
 * event that says why; STORE_EV_DOWN says nothing new. */
static enum store_event store_zk_make_handle(struct store *store, zhandle_t **ret)
{
    const struct timespec moment = {0, 50000};
    enum store_event why;
    char *hosts = zk_servers_find_hosts(store, &why, false);

    *ret = NULL;
    if (!hosts)
        return why;
    /* libzookeeper ends the process if the system refuses it a thread. */
    if (!thread_can_start_two()) {
        store_zk_tell_trouble(store, TROUBLE_MEMORY, NULL);
        g_free(hosts);
        return STORE_EV_DOWN;
    }
    pthread_mutex_lock(store->sink.monitor);
    if (!store->closing)
        store->sink.event(store->sink.context, STORE_EV_BEGIN, 0, 0);
    pthread_mutex_unlock(store->sink.monitor);
    store->servers = names_count(hosts);
    names_begin();
    *ret = store_zk_init(store, hosts, store_zk_event);
    /* Until libzookeeper's thread begins to connect, it converts the addresses, as zookeeper_init()
     * does; see names.h. */
    for (int i = 0; *ret && i < ATTEMPT_LOOKS && zoo_state(*ret) == ZOO_NOTCONNECTED_STATE; i++)
        nanosleep(&moment, NULL);
    names_end();
    g_free(hosts);
    if (!*ret && probe_own_trouble() != TROUBLE_UNKNOWN)
        store_zk_tell_trouble(store, probe_own_trouble(), NULL);
    if (*ret)
        zoo_set_servers_resolution_delay(*ret, -1);
    return STORE_EV_DOWN;
}

/* Makes the handle, in as many attempts as it takes; NULL if the store is closed first. The caller
 * holds the monitor, which is given up while this blocks. */
static zhandle_t *store_zk_keep_trying(struct store *store)
{
    zhandle_t *zh = NULL;

    while (!store->closing) {
        store_zk_take_hosts(store);
        pthread_mutex_unlock(store->sink.monitor);
        enum store_event why = store_zk_make_handle(store, &zh);
        pthread_mutex_lock(store->sink.monitor);
        if (zh)
            break;
        log_attempt(store->log);
        if (!store->closing && why != STORE_EV_DOWN)
            store->sink.event(store->sink.context, why, 0, 0);
        const struct timespec until = clock_after_ms(RETRY_MS);
        while (!store->closing && store_zk_wait(store, &until))
            continue;
    }
    return zh;
}

/* ---- the connector: without a connection, and with one ---- */

/* Finds out which servers are tried next, of the ensemble and of the user. The caller holds the
 * monitor, which is given up to look up names. */
static void store_zk_follow_all(struct store *store)
{
    store_zk_take_hosts(store);
    store_zk_follow_ensemble(store);
    store_zk_follow_names(store);
}

/* Whether there is no connection, and none was made since connections was the number of them. */
static bool store_zk_is_out(const struct store *store, unsigned connections)
{
    return store_zk_is_down(store) && store->connections == connections;
}

bool store_zk_stays_down(struct store *store, zhandle_t *zh, unsigned connections, int ms)
{
    /* The connection is lost. A server that was silent when servers were last found, and was left
     * out, may answer by now. */
    if (zh && store->away && store->silent)
        store_zk_follow_names(store);
    for (int left = ms; left > 0 && store_zk_is_out(store, connections); left -= STUCK_LOOK_MS) {
        const struct timespec until = clock_after_ms(MIN(left, STUCK_LOOK_MS));
        while (store_zk_is_out(store, connections) && !store->heard && store_zk_wait(store, &until))
            continue;
        /* libzookeeper does not tell that SASL has failed. */
        if (zh && store_zk_is_down(store) && store->sasl && zoo_state(zh) == ZOO_AUTH_FAILED_STATE)
            store_zk_session_event(store, zh, ZOO_AUTH_FAILED_STATE);
        if (zh && store_zk_is_down(store))
            store_zk_pass_on(store, zh);
        if (zh && store_zk_is_down(store) && store->heard)
            store_zk_follow_all(store);
        else if (zh && store_zk_is_down(store))
            store_zk_follow_names(store);
    }
    return store_zk_is_out(store, connections);
}

/* Waits for after_ms. If there was no connection in all that time, asks the servers why, and tells
 * what they show. If there was one, returns: a call of its own judges the next outage. The caller
 * holds the monitor, which is given up to wait and to ask. */
static void store_zk_look_around(struct store *store, zhandle_t *zh, int after_ms)
{
    static const enum store_event told[] = {
        [ROLLBACK_NONE] = STORE_EV_UNSERVED,
        [ROLLBACK_SERVES] = STORE_EV_SERVED,
        [ROLLBACK_REFUSES] = STORE_EV_REFUSED,
    };
    const unsigned connections = store->connections;
    enum rollback_evidence evidence = ROLLBACK_NONE;

    if (!store_zk_stays_down(store, zh, connections, after_ms))
        return;
    const bool away = store->away;
    pthread_mutex_unlock(store->sink.monitor);
    struct probe_tls tls, *used = store_zk_use_tls(store, &tls);
    const bool asks = !tls.why;
    const enum store_trouble trouble =
        asks ? probe_trouble(store->hosts, used) : probe_own_trouble();
    if (asks && away && trouble > TROUBLE_REFUSED) /* else nobody is there to be greeted */
        evidence = probe_zxid(store->hosts, store->seen, used);
    /* a server that greets us takes our certificate */
    store_zk_tell_trouble(store, trouble, evidence == ROLLBACK_NONE ? tls.why : NULL);
    store_zk_end_tls(&tls);
    pthread_mutex_lock(store->sink.monitor);
    if (store_zk_is_out(store, connections) && away)
        store->sink.event(store->sink.context, told[evidence], 0, 0);
    if (store_zk_is_down(store))
        store_zk_follow_all(store);
}

/* Acts on news of the servers while there is a connection, after a moment in which more may come.
 * The caller holds the monitor, which is given up to wait. */
static void store_zk_follow_news(struct store *store)
{
    if (store_zk_wait(store, &store->heard_at) || !store->up)
        return;
    const bool set = store_zk_take_hosts(store);
    if (store_zk_follow_ensemble(store) || set)
        store_zk_follow_names(store);
}

/* Runs the connector: it makes the handle, looks after it, and closes it. */
static void *store_zk_run_connector(void *data)
{
    struct store *store = data;
    pthread_mutex_t *monitor = store->sink.monitor;
    struct store_sink sink = store->sink;

    pthread_mutex_lock(monitor);
    zhandle_t *zh = store_zk_keep_trying(store);
    if (zh && !store->closing) {
        store->zh = zh;
        if (!store->over)
            store_zk_give_credentials(store);
    }
    if (store_zk_is_down(store))
        store_zk_look_around(store, zh, LOOK_MS);
    while (!store->closing) {
        if (store_zk_is_down(store))
            store_zk_look_around(store, zh, store->timeout_ms / PROBES);
        else if (store->up && store->heard)
            store_zk_follow_news(store);
        else
            pthread_cond_wait(&store->wake, monitor);
    }
    store->zh = NULL;
    while (store->borrowed > 0)
        pthread_cond_wait(&store->wake, monitor);
    /* zookeeper_close() waits for anything to read, then closes the socket. With answers still
     * unread that resets the connection, and the server may never see the request to close the
     * session. So the answers under way are awaited before. */
    const struct timespec until = clock_after_ms(DRAIN_MS);
    while (zh && !g_queue_is_empty(&store->sent) && zoo_state(zh) == ZOO_CONNECTED_STATE &&
           store_zk_wait(store, &until))
        continue;
    pthread_mutex_unlock(monitor);
    xid_used();
    if (zh)
        zookeeper_close(zh);
    store_zk_free(store);
    sink.closed(sink.context);
    return NULL;
}

/* ---- the store's functions for a session, with the monitor held ---- */

_Static_assert(sizeof(((clientid_t *)NULL)->passwd) == STORE_PASSWORD, "libzookeeper's length");

static bool store_zk_get_claim(struct store *store, struct store_claim *ret)
{
    const clientid_t *id = store->zh && !store->over ? zoo_client_id(store->zh) : NULL;

    if (!id || id->client_id == 0)
        return false;
    ret->id = id->client_id;
    memcpy(ret->password, id->passwd, STORE_PASSWORD);
    return true;
}

static int store_zk_open(struct store **ret, const struct store_config *config,
                         const struct store_sink *sink)
{
    struct store *store = g_new0(struct store, 1);
    GArray *acl = acl_parse(config->acl);

    store->sink = *sink;
    store->log = config->log;
    store->hosts = g_strdup(config->hosts);
    store->credentials = config->credentials ? credentials_ref(config->credentials) : NULL;
    store->timeout_ms = config->timeout_ms;
    if (config->claim) {
        store->claimed.client_id = config->claim->id;
        memcpy(store->claimed.passwd, config->claim->password, STORE_PASSWORD);
    }
    store->sasl = store_zk_sasl_new(store->credentials);
    store->tls = tls_files_copy(config->tls);
    store->acl_entries = acl;
    store->acl.count = (int32_t)acl->len;
    store->acl.data = g_new0(struct ACL, acl->len);
    for (guint i = 0; i < acl->len; i++) {
        const struct acl_entry *entry = &g_array_index(acl, struct acl_entry, i);
        store->acl.data[i] = (struct ACL){entry->perms, {entry->scheme, entry->id}};
    }
    thread_cond_init(&store->wake);
    if (thread_start_detached(store_zk_run_connector, store) != 0) {
        store_zk_free(store);
        return -1;
    }
    *ret = store;
    return 0;
}

static void store_zk_close(struct store *store)
{
    store->closing = true;
    store->zh = NULL;
    store_zk_fail_all(store);
    pthread_cond_broadcast(&store->wake);
}

static void *store_zk_borrow(struct store *store)
{
    if (!store->zh || store->over)
        return NULL;
    store->borrowed++;
    store->lent = true;
    return store->zh;
}

static void store_zk_give_back(struct store *store)
{
    if (--store->borrowed == 0 && store->closing)
        pthread_cond_broadcast(&store->wake);
}

const struct store_ops store_zk = {.open = store_zk_open,
                                   .submit = store_zk_submit,
                                   .close = store_zk_close,
                                   .borrow = store_zk_borrow,
                                   .give_back = store_zk_give_back,
                                   .get_claim = store_zk_get_claim,
                                   .set_hosts = store_zk_set_hosts,
                                   .hear_config = store_zk_hear_config,
                                   .strays = store_zk_strays};
