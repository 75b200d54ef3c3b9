/* What every public header needs: visibility, C++ linkage, the handles' names. */
#ifndef ZKL_API_H
#define ZKL_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ZKL_API __attribute__((visibility("default")))
#else
#define ZKL_API
#endif

#ifdef __cplusplus
#define ZKL_BEGIN extern "C" {
#define ZKL_END }
#else
#define ZKL_BEGIN
#define ZKL_END
#endif

/* No limit, for every timeout_ms. */
#define ZKL_FOREVER ((int64_t)-1)

ZKL_BEGIN

typedef struct zkl_session zkl_session;   /* one ZooKeeper session, renewed after expiry */
typedef struct zkl_mutex zkl_mutex;       /* a reentrant, fair, fenced mutex on one path */
typedef struct zkl_grant zkl_grant;       /* the right that holding gives */
typedef struct zkl_op zkl_op;             /* an acquisition under way */
typedef struct zkl_queue zkl_queue;       /* a snapshot of the contenders of one path */
typedef struct zkl_watch zkl_watch;       /* calls at changes of a queue or of the leader */
typedef struct zkl_election zkl_election; /* a candidate at one path */

ZKL_END

#endif
