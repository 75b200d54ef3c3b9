/* A TCP proxy in front of a ZooKeeper server that can be told to misbehave, and two servers that
 * always do. Each is a thread of its own. All functions but proxy_stop may be called from any
 * thread, and have taken effect when they return. */
#ifndef SUPPORT_PROXY_H
#define SUPPORT_PROXY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct proxy;

enum proxy_direction { PROXY_TO_SERVER = 1, PROXY_TO_CLIENT = 2, PROXY_BOTH = 3 };

/* Types of request, as on the wire. */
enum proxy_op {
    PROXY_OP_CREATE = 1,
    PROXY_OP_DELETE = 2,
    PROXY_OP_EXISTS = 3,
    PROXY_OP_GET_DATA = 4,
    PROXY_OP_SET_DATA = 5,
    PROXY_OP_GET_CHILDREN = 8,
    PROXY_OP_SYNC = 9,
    PROXY_OP_PING = 11,
    PROXY_OP_GET_CHILDREN2 = 12,
    PROXY_OP_MULTI = 14,
    PROXY_OP_CREATE2 = 15,
    PROXY_OP_CHECK_WATCHES = 17,
    PROXY_OP_REMOVE_WATCHES = 18,
    PROXY_OP_CREATE_CONTAINER = 19,
    PROXY_OP_SET_WATCHES = 101,
    PROXY_OP_CLOSE = -11,
    PROXY_OP_ANY = -1000, /* any but pings */
    /* Messages of the server's own: */
    PROXY_OP_HANDSHAKE = -1001,
    PROXY_OP_EVENT = -1002,
};

struct proxy_stats {
    uint64_t connections; /* accepted */
    uint64_t bytes_to_server, bytes_to_client;
    uint64_t writes;        /* that passed some of them on */
    uint64_t requests[128]; /* forwarded whole, by type; see proxy_requests() */
    uint64_t answers[128];  /* forwarded whole, by the type of their request; proxy_answers() */
    uint64_t replies;       /* pings and handshakes not counted */
    uint64_t events;        /* watches that fired */
    uint64_t dropped;       /* messages that proxy_drop() swallowed */
    uint64_t lost;          /* messages that proxy_lose_…() swallowed */
    uint64_t refused;       /* requests that proxy_refuse() and proxy_hang_up_on() kept away */
};

struct proxy *proxy_start(int target_port);        /* NULL if there is no port or thread */
struct proxy *proxy_start_raw(int target_port);    /* for any bytes; cannot lose or drop messages */
struct proxy *mute_server_start(void);             /* accepts and reads, never answers */
struct proxy *rubbish_server_start(uint32_t seed); /* answers noise, in turns with a valid length */
void proxy_stop(struct proxy *p);                  /* resets what is open */

int proxy_port(const struct proxy *p);
const char *proxy_connect(const struct proxy *p); /* "127.0.0.1:P" */

/* Resets all connections and refuses new ones, until proxy_heal(). */
void proxy_cut(struct proxy *p);

/* Resets all connections; new ones are welcome. */
void proxy_reset(struct proxy *p);

/* Stops forwarding silently. Connections stay open; new ones are accepted, but nothing comes
 * through. What is sent meanwhile waits in the kernel's buffers, and arrives after the thaw. */
void proxy_freeze(struct proxy *p, enum proxy_direction direction);
void proxy_thaw(struct proxy *p);

/* Reads and discards, message by message. */
void proxy_drop(struct proxy *p, enum proxy_direction direction, bool on);

/* Bytes read from now on are written that much later, in order. */
void proxy_delay_ms(struct proxy *p, enum proxy_direction direction, int ms);

/* That much more for each piece read, at random up to ms; the order stays. */
void proxy_jitter_ms(struct proxy *p, enum proxy_direction direction, int ms);

/* Each connection is reset at a random moment, up to ms after it was made; 0: none is. */
void proxy_tear_ms(struct proxy *p, int ms);

/* Writes at most that many bytes at once, each a segment of its own; 0: as they come. */
void proxy_segment(struct proxy *p, int bytes);

/* New connections go to that port from now on; not taken back by proxy_heal(). */
void proxy_target(struct proxy *p, int port);

/* The first forwards the next request of this type, but resets both sides instead of its reply. The
 * second resets both sides instead of forwarding the request. Each call counts for one request. */
void proxy_lose_reply_to(struct proxy *p, int op);
void proxy_lose_request_to(struct proxy *p, int op);

/* The proxy acts like servers that do not know this type of request. Either each is answered, in
 * its turn, with unimplemented (-6), or both sides are reset. */
void proxy_refuse(struct proxy *p, int op);
void proxy_hang_up_on(struct proxy *p, int op);

/* Resets all connections; on others the servers refuse credentials, as when their users change. */
void proxy_refuse_credentials(struct proxy *p);

/* A server that connects to another says where it can be found itself. from, a "host:port" in the
 * first bytes that it sends, becomes to, which must be as long. Raw proxies only. */
void proxy_rewrite(struct proxy *p, const char *from, const char *to);

/* Each message to a client goes whole, with its length, through fn, which may change it. If fn
 * returns false, the connection ends. op is the type of the request. fn runs in the proxy's own
 * thread, for connections made from now on. */
typedef bool (*proxy_mangle_fn)(GByteArray *message, int op, void *data);
void proxy_mangle(struct proxy *p, proxy_mangle_fn fn, void *data);

/* Takes back all of the above, but for proxy_rewrite(). */
void proxy_heal(struct proxy *p);

void proxy_get_stats(struct proxy *p, struct proxy_stats *ret);
void proxy_reset_stats(struct proxy *p);
uint64_t proxy_requests(struct proxy *p, int op); /* PROXY_OP_ANY: the sum */
uint64_t proxy_answers(struct proxy *p, int op);

/* Waits until fn(stats, data) is true; false after some timeout_ms, or else UNTIL_LATE. */
typedef bool (*proxy_wait_fn)(const struct proxy_stats *stats, void *data);
bool proxy_wait(struct proxy *p, proxy_wait_fn fn, void *data, int timeout_ms);
bool proxy_wait_requests(struct proxy *p, int op, uint64_t count, int timeout_ms);
bool proxy_wait_answers(struct proxy *p, int op, uint64_t count, int timeout_ms);
bool proxy_wait_lost(struct proxy *p, uint64_t count, int timeout_ms);

#endif
