/* For programs with a GLib main loop: a session's callbacks called by it. */
#ifndef ZKL_GLIB_H
#define ZKL_GLIB_H

#include <glib.h>
#include <zkl.h>

ZKL_BEGIN

/* A source that calls zkl_session_dispatch(s) when there is something to call; s must have been
 * opened with the option dispatch. Attach it to the context whose thread is to run the callbacks,
 * and destroy it before zkl_session_close(). NULL when s cannot be dispatched: zkl_last_error()
 * says why. The caller owns the source. Since 0.1. */
ZKL_API GSource *zkl_glib_source_new(zkl_session *s);

ZKL_END

#endif
