/* For programs with a GLib main loop. The main loop runs the callbacks of a session. Every handle
 * works with g_autoptr(); with zkl/cleanup.h the guards of locks do, too. */
#ifndef ZKL_GLIB_H
#define ZKL_GLIB_H

#include <glib.h>
#include <zkl.h>

ZKL_BEGIN

/* Creates a source that calls zkl_session_dispatch(s) when callbacks wait. s must have been opened
 * with the option dispatch. Attach the source to the context whose thread is to run the callbacks,
 * and destroy it before zkl_session_close(). The caller owns the source (g_source_unref()).
 * Returns NULL if s is NULL, was opened without the option dispatch, or is used in a forked child;
 * zkl_last_error() then gives the reason. Since 0.1. */
ZKL_API GSource *zkl_glib_source_new(zkl_session *s);

ZKL_END

/* zkl/cleanup.h describes scope guards. Since 0.1. */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_session, zkl_session_close)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_mutex, zkl_mutex_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_multilock, zkl_multilock_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_rwlock, zkl_rwlock_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_grant, zkl_grant_release)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_op, zkl_op_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_queue, zkl_queue_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_watch, zkl_watch_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_election, zkl_election_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_semaphore, zkl_semaphore_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_barrier, zkl_barrier_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_double_barrier, zkl_double_barrier_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_counter, zkl_counter_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_member, zkl_member_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_members, zkl_members_free)
#ifdef ZKL_AUTO
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_mutex_locker, zkl_mutex_locker_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_rwlock_writer, zkl_rwlock_writer_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(zkl_rwlock_reader, zkl_rwlock_reader_free)
#endif

#endif
