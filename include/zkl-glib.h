/* For programs with a GLib main loop. The loop can run the callbacks of a session. Every handle
 * works with g_autoptr(), and so do the guards of locks (zkl/cleanup.h). */
#ifndef ZKL_GLIB_H
#define ZKL_GLIB_H

#include <glib.h>
#include <zkl.h>

ZKL_BEGIN

/* Creates a source that calls zkl_session_dispatch(s) when callbacks wait. s must have been opened
 * with the option dispatch. Attach the source to the context whose thread is to run the callbacks.
 * It may be destroyed before or after zkl_session_close(). The caller owns the source
 * (g_source_unref()).
 * Returns NULL if s is NULL, was opened without the option dispatch, or is used in a forked
 * child; zkl_last_error() then gives the reason. */
ZKL_API GSource *zkl_glib_source_new(zkl_session *s);

ZKL_END

/* zkl/cleanup.h has the list. */
#ifdef ZKL_HANDLES
ZKL_HANDLES(G_DEFINE_AUTOPTR_CLEANUP_FUNC)
#endif

#endif
