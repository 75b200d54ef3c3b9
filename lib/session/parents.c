#include "parents.h"

#include <string.h>

#include "request.h"

struct parents {
    unsigned left;
    enum store_rc first; /* what stopped the first that could not be made */
    void (*done)(void *context, enum store_rc rc);
    void *context;
};

/* The last one's answer counts; but if it could not be made for want of a parent, the reason is
 * that of the first. */
static void on_made(struct request *r, const struct store_reply *reply)
{
    struct parents *p = r->context;
    bool good = reply->rc == STORE_OK || reply->rc == STORE_EXISTS;

    if (!good && p->first == STORE_OK)
        p->first = reply->rc;
    if (--p->left > 0)
        return;
    p->done(p->context, good ? STORE_OK : reply->rc == STORE_GONE ? STORE_GONE : p->first);
    g_free(p);
}

void parents_make(zkl_session *s, const char *path, enum store_mode mode,
                  void (*done)(void *context, enum store_rc rc), void *context)
{
    struct parents *p = g_new0(struct parents, 1);
    const char *at = path;

    p->done = done;
    p->context = context;
    while ((at = strchr(at + 1, '/')))
        p->left++;
    if (p->left == 0) {
        g_free(p);
        done(context, STORE_OK); /* the root is there */
        return;
    }
    at = path;
    while ((at = strchr(at + 1, '/'))) {
        struct request *r =
            request_new(STORE_CREATE, g_strndup(path, (gsize)(at - path)), on_made, p);
        r->what.mode = mode;
        request_send(s, r);
    }
}
