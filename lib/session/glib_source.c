#include <zkl-glib.h>

struct source {
    GSource source;
    zkl_session *session;
};

static gboolean dispatch(GSource *source, GSourceFunc fn, gpointer data)
{
    (void)fn;
    (void)data;
    zkl_session_dispatch(((struct source *)source)->session);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs funcs = {.dispatch = dispatch};

GSource *zkl_glib_source_new(zkl_session *s)
{
    int fd = zkl_session_fd(s);

    if (fd < 0)
        return NULL;
    GSource *source = g_source_new(&funcs, sizeof(struct source));
    ((struct source *)source)->session = s;
    g_source_set_static_name(source, "zkl");
    g_source_add_unix_fd(source, fd, G_IO_IN);
    return source;
}
