/* Hosts: whose clocks are read, and who stands still. */
#include "inside.h"
#include "lib/base/clock.h"

enum { PPM = 1000000, WAKE_SPREAD_US = 500 };

static struct host *entered;
static struct instant (*real_clock)(void);
static unsigned worlds;

struct host *world_host(struct world *w, const char *name, int rate_ppm)
{
    struct host *h = g_new0(struct host, 1);

    h->w = w;
    h->name = g_strdup(name);
    h->rate_ppm = rate_ppm;
    /* Nobody is to compare what two hosts' clocks say. */
    h->boot_offset = (int64_t)chance_below(&w->queue, 1000) * 1000 * MS + 1000 * MS;
    h->raw_offset = (int64_t)chance_below(&w->queue, 1000) * 1000 * MS + 1000 * MS;
    h->stores = g_ptr_array_new();
    g_ptr_array_add(w->hosts, h);
    return h;
}

const char *host_name(const struct host *h)
{
    return h->name;
}

static struct instant read_entered(void)
{
    return host_clock(entered);
}

/* The real clock would make a schedule depend on how long this machine has been up. */
static struct instant read_none(void)
{
    g_error("the clock is read in a world, and outside of its hosts");
    return (struct instant){0, 0};
}

struct host *host_enter(struct host *h)
{
    struct host *before = entered;

    if (!real_clock)
        real_clock = clock_now;
    entered = h;
    clock_now = h ? read_entered : worlds > 0 ? read_none : real_clock;
    return before;
}

void host_count_worlds(int more)
{
    worlds += (unsigned)more;
    host_enter(entered);
}

struct host *host_entered(void)
{
    return entered;
}

/* ---- clocks ---- */

static int64_t elapse(const struct host *h, int64_t ns)
{
    return ns + ns / PPM * h->rate_ppm + ns % PPM * h->rate_ppm / PPM;
}

static int64_t awake(const struct host *h)
{
    int64_t now = h->w->queue.now;

    return now - h->suspended_ns - (h->suspended ? now - h->suspended_since : 0);
}

struct instant host_clock(const struct host *h)
{
    return (struct instant){h->boot_offset + elapse(h, h->w->queue.now),
                            h->raw_offset + elapse(h, awake(h))};
}

/* The first instant at which so much has elapsed. */
static int64_t unelapse(const struct host *h, int64_t ns)
{
    int64_t at = (int64_t)((long double)ns / (1 + (long double)h->rate_ppm / (long double)PPM));

    while (elapse(h, at) < ns)
        at++;
    while (at > 0 && elapse(h, at - 1) >= ns)
        at--;
    return at;
}

int64_t host_when(const struct host *h, int64_t boot_ns)
{
    return unelapse(h, MAX(boot_ns - h->boot_offset, 0));
}

int64_t host_raw_when(const struct host *h, int64_t raw_ns)
{
    return unelapse(h, MAX(raw_ns - h->raw_offset, 0)) + h->suspended_ns;
}

/* ---- pauses ---- */

bool host_is_paused(const struct host *h)
{
    return h->paused;
}

void host_pause(struct host *h, bool suspended)
{
    if (h->paused)
        return;
    h->paused = true;
    h->suspended = suspended;
    h->suspended_since = h->w->queue.now;
}

static int64_t soon(struct host *h)
{
    return (int64_t)chance_below(&h->w->queue, WAKE_SPREAD_US) * 1000;
}

void host_resume(struct host *h)
{
    if (!h->paused)
        return;
    if (h->suspended)
        h->suspended_ns += h->w->queue.now - h->suspended_since;
    h->paused = h->suspended = false;
    for (guint i = 0; i < h->stores->len; i++) {
        struct store *store = h->stores->pdata[i];
        client_wake(store, soon(h));
        if (store->conn)
            link_kick(&store->conn->down, soon(h));
    }
}

void host_kill(struct host *h)
{
    h->dead = true;
    for (guint i = 0; i < h->stores->len; i++) {
        struct store *store = h->stores->pdata[i];
        store->state = CLIENT_OVER;
        queue_cancel(&h->w->queue, &store->alarm);
        if (store->conn)
            conn_client_closes(store->conn);
    }
}
