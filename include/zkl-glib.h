/* For programs with a GLib main loop, which then runs the callbacks of a session. */
#ifndef ZKL_GLIB_H
#define ZKL_GLIB_H

#include <glib.h>
#include <zkl.h>

ZKL_BEGIN

/* Creates a source that calls zkl_session_dispatch(s) when callbacks wait. s must have been opened
 * with the option dispatch. Attach the source to the context whose thread is to run the callbacks,
 * and destroy it before zkl_session_close(). The caller owns the source (g_source_unref()).
 * Returns NULL if s is NULL, has not that option or is used in a forked child; zkl_last_error()
 * gives the reason. Since 0.1. */
ZKL_API GSource *zkl_glib_source_new(zkl_session *s);

ZKL_END

#endif
