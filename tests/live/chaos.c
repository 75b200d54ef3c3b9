/* chaos [--seconds N] [--seed N]: everything at once, at random. First sessions behind proxies that
 * take part in all recipes, while an administrator sets, revokes and deletes what is theirs; then
 * threads that share a few mutexes, which are freed under them; then threads that call every
 * function, while all handles are freed during their calls. Nobody holds what another holds,
 * and no more permits are held than there are, unless somebody has deleted a node; each call ends,
 * with a code that is documented; and in the end nothing is left at the server. */
#include "chaos.h"

#include "fourletter.h"
#include "progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

TEST_SUITE(chaos, .init = seeded_init);

enum {
    PARTS = 3,        /* of the time */
    LAST_LOOK_S = 121 /* for a late create */
};

struct seeded campaign = {.seconds = 6, .seed = 1};
struct zk_server *server;
struct raw *admin;
struct tally tally;

static __thread guint32 state;
static pthread_mutex_t register_lock = PTHREAD_MUTEX_INITIALIZER;
static gint64 end_of_part;

void chaos_seed(guint32 seed)
{
    state = seed;
}

unsigned chaos(unsigned below)
{
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
}

/* A part with less says nothing. */
static bool is_enough(void)
{
    pthread_mutex_lock(&register_lock);
    const bool checked = tally.checked > 10;
    pthread_mutex_unlock(&register_lock);
    return checked && __atomic_load_n(&tally.granted, __ATOMIC_RELAXED) > 10;
}

bool chaos_goes_on(void)
{
    if (progress_is_late())
        return false;
    return g_get_monotonic_time() < end_of_part || !is_enough();
}

void tally_add(unsigned *what)
{
    __atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

/* ---- the register ---- */

unsigned place_spoilt(struct place *p)
{
    pthread_mutex_lock(&register_lock);
    const unsigned spoilt = p->spoilt;
    pthread_mutex_unlock(&register_lock);
    return spoilt;
}

void place_spoil(struct place *p, bool begins)
{
    pthread_mutex_lock(&register_lock);
    p->spoilt++;
    p->spoilers += begins ? 1 : -1U;
    pthread_mutex_unlock(&register_lock);
}

/* Is it held, and has nobody deleted anything since it was asked for? What is asked for meanwhile
 * may be deleted as well. */
static bool is_counted(const struct place *p, const struct hold *h)
{
    return !p->spoilers && h->spoilt == p->spoilt && zkl_grant_state(h->grant) < ZKL_LOST;
}

static void check_rise(struct place *p, const struct hold *h)
{
    const uint64_t token = zkl_grant_token(h->grant), turn = zkl_grant_turn(h->grant);

    if (!is_counted(p, h))
        return;
    if (token < p->token || (token == p->token && turn <= p->turn))
        runner_fail(__FILE__, __LINE__,
                    "%s: %" PRIu64 ".%" PRIu64 " is held behind %" PRIu64 ".%" PRIu64,
                    zkl_grant_node(h->grant), token, turn, p->token, p->turn);
    p->token = token;
    p->turn = turn;
}

/* All that count were held when this began: one that is lost is never held again. */
void place_take(struct place *p, struct hold *h)
{
    unsigned units = 0;

    pthread_mutex_lock(&register_lock);
    h->link = (GList){.data = h};
    g_queue_push_tail_link(&p->held, &h->link);
    for (const GList *l = p->held.head; l; l = l->next) {
        const struct hold *other = l->data;
        units += is_counted(p, other) ? other->units : 0;
    }
    tally.overlaps += units > p->capacity;
    tally.checked += units > 0;
    progress_step();
    if (units > p->capacity)
        runner_fail(__FILE__, __LINE__, "%s: %u are held of %u", zkl_grant_node(h->grant), units,
                    p->capacity);
    if (p->rises)
        check_rise(p, h);
    pthread_mutex_unlock(&register_lock);
}

void place_leave(struct place *p, struct hold *h)
{
    pthread_mutex_lock(&register_lock);
    g_queue_unlink(&p->held, &h->link);
    pthread_mutex_unlock(&register_lock);
}

void chaos_expect(int code, const char *what, const int *others)
{
    static const int usual[] = {ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_ECLOSED, ZKL_ECANCELED, 0};
    bool known = code == 0;

    for (const int *c = usual; *c; c++)
        known = known || *c == code;
    for (const int *c = others; c && *c; c++)
        known = known || *c == code;
    if (!known)
        runner_fail(__FILE__, __LINE__, "%s: %s", what, zkl_strerror(code));
}

/* ---- all parts ---- */

void chaos_begin(void)
{
    tally = (struct tally){0};
    chaos_seed(campaign.seed);
    end_of_part = g_get_monotonic_time() + campaign.seconds * G_USEC_PER_SEC / PARTS;
}

static bool come_down_to(const char *what, int64_t wanted)
{
    int64_t now;

    progress_allow(LAST_LOOK_S);
    AWAIT((now = fourletter_mntr(zk_server_port(server, 0), what)) == wanted);
    return CHECK_INT(now, wanted);
}

void chaos_expect_nothing_left(void)
{
    if (come_down_to("zk_ephemerals_count", 0) && come_down_to("zk_watch_count", 0))
        return;
    char **left = raw_tree_dump(admin, "/");
    for (int i = 0; left && left[i]; i++)
        printf("  left: %s\n", left[i]);
    g_strfreev(left);
}

static void play_part(void (*part)(void))
{
    const struct zk_server_options options = {.tick_ms = 200};

    REQUIRE((server = zk_server_start(&options)) != NULL);
    REQUIRE((admin = raw_open(zk_server_connect(server))) != NULL);
    chaos_begin();
    part();
    CHECK(is_enough());
    printf("seed %u: %u asked, %u granted, %u failed, %u lost, %u looks into the register\n",
           campaign.seed, tally.asked, tally.granted, tally.failed, tally.lost, tally.checked);
    raw_close(admin);
    zk_server_stop(server);
}

TEST_CASE(family)
{
    play_part(everything_at_once);
}

TEST_CASE(threads)
{
    play_part(threads_of_mutexes);
}

TEST_CASE(handles)
{
    play_part(threads_of_handles);
}

int main(int argc, char **argv)
{
    return seeded_main(&campaign, argc, argv);
}
