/* What every public header needs: visibility, C++ linkage, the names of the handles. */
#ifndef ZKL_API_H
#define ZKL_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ZKL_API __attribute__((visibility("default")))
/* The result says whether the caller holds what it asked for: a call that ignores it warns. */
#define ZKL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define ZKL_API
#define ZKL_MUST_CHECK
#endif

#ifdef __cplusplus
#define ZKL_BEGIN extern "C" {
#define ZKL_END }
#else
#define ZKL_BEGIN
#define ZKL_END
#endif

/* A timeout_ms without limit. */
#define ZKL_FOREVER INT64_MAX

ZKL_BEGIN

/* The handles. All are opaque. */
typedef struct zkl_session zkl_session;     /* one ZooKeeper session after the other */
typedef struct zkl_mutex zkl_mutex;         /* a reentrant, fair, fenced mutex on one path */
typedef struct zkl_multilock zkl_multilock; /* locks at several paths, all or none */
typedef struct zkl_rwlock zkl_rwlock; /* a reentrant, fair, fenced read-write lock on one path */
typedef struct zkl_semaphore zkl_semaphore;           /* a fair semaphore on one path */
typedef struct zkl_grant zkl_grant;                   /* the right to a lock that its holder has */
typedef struct zkl_op zkl_op;                         /* an acquisition in progress */
typedef struct zkl_queue zkl_queue;                   /* a snapshot of the contenders of one path */
typedef struct zkl_watch zkl_watch;                   /* reports changes */
typedef struct zkl_election zkl_election;             /* a candidate at one path */
typedef struct zkl_barrier zkl_barrier;               /* a node: clients wait while it exists */
typedef struct zkl_double_barrier zkl_double_barrier; /* a member of a double barrier */
typedef struct zkl_counter zkl_counter;               /* a number in the data of a node */
typedef struct zkl_member zkl_member;                 /* a member of a group */
typedef struct zkl_members zkl_members;               /* a snapshot of the members of a group */
typedef struct zkl_once zkl_once;                     /* work that one caller does for all */
typedef struct zkl_shards zkl_shards;                 /* numbered work that a group shares */

ZKL_END

#endif
