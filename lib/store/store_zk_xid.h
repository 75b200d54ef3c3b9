/* The numbers of requests. libzookeeper has one counter of 32 bits for all handles of the process.
 * The counter begins with time(), when libzookeeper is loaded. The numbers -8 to -1 mean something
 * else in an answer: an event, a ping, credentials, watches. A request that gets one of them
 * crashes the process, is never answered, or ends the session for good. A process gets there after
 * some 2.5 billion requests.
 *
 * Nobody can read the counter, so we count along. When it comes near those numbers, one thread uses
 * them up, with a call that fails, and all requests wait for that moment. Requests on other handles
 * of the process are not counted: store_zk_xid.c has room for a million. */
#ifndef LIB_STORE_ZK_XID_H
#define LIB_STORE_ZK_XID_H

/* Called before and after each function of libzookeeper that numbers one request. Between the two
 * nothing may block. */
void xid_enter(void);
void xid_leave(void);

/* Counts a request that libzookeeper makes by itself. */
void xid_used(void);

#endif
