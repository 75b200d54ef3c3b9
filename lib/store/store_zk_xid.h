/* The numbers of requests. libzookeeper has one counter for all handles of the process: 32 bits,
 * from time() on when it was loaded. The numbers -8 to -1 mean something else in an answer: an
 * event, a ping, credentials, watches. A request that gets one of them crashes the process, is
 * never answered, or ends the session for good. That is after some 2.5 billion requests.
 *
 * The counter cannot be seen, so we count along. Near those numbers all requests wait for the
 * moment that it takes to call a function which fails, and uses a number, until they are over.
 * What others ask for on handles of their own is not counted: store_zk_xid.c has room for a
 * million. */
#ifndef LIB_STORE_ZK_XID_H
#define LIB_STORE_ZK_XID_H

/* Around each function of libzookeeper that numbers one request. Between the two nothing may block.
 */
void xid_enter(void);
void xid_leave(void);

/* libzookeeper has asked for something by itself. */
void xid_used(void);

#endif
