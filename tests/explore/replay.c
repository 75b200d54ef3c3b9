/* Walks through the explorer's world at random, each replayed on the library: model and library
 * must agree on every state and every request. Takes the place of search.c. */
#include "search.h"

#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/grant/grant.h"
#include "library.h"
#include "model.h"
#include "unit/seeded.h"

enum { WALKS = 800, WALKS_SLOW = 200, MOVES = 400, FAULTY_MAX = 40 };

bool search_uses_library(void)
{
    return true;
}

const char *search_about(void)
{
    return "walks are replayed on the library";
}

/* ---- what is compared ---- */

/* Puts down all of the attempt but what never changes. */
static void replay_put_attempt(GString *text, const struct attempt *m)
{
    g_string_append_printf(text, "  %s: rounds %u, ahead %u", attempt_state_name(m->state),
                           m->rounds, m->ahead);
    if (m->has_node)
        g_string_append_printf(text, ", node %d, token %" G_GUINT64_FORMAT, m->number, m->token);
    if (m->hintable)
        g_string_append_printf(text, ", data of version %d, %u children", m->version, m->count);
    g_string_append_printf(text, "%s%s%s%s%s%s\n", m->told ? ", told" : "",
                           m->watching ? ", watching" : "", m->own_watched ? ", own watched" : "",
                           m->shared_session ? ", shared session" : "", m->waited ? ", waited" : "",
                           m->asked ? ", asked" : "");
}

struct facts {
    bool up, established, in_time; /* the session */
    bool decided, owned, timer, orphan, retired;
    unsigned watches;
    const char *own, *predecessor; /* nodes that are watched, NULL: none */
};

static void replay_put_facts(GString *text, const struct facts *f)
{
    g_string_append_printf(text, "  session:%s%s%s\n", f->up ? " up" : "",
                           f->established ? " established" : "", f->in_time ? " in time" : "");
    g_string_append_printf(text, "  attempt:%s%s%s%s%s\n", f->decided ? " decided" : "",
                           f->owned ? " owned" : "", f->timer ? " timer" : "",
                           f->orphan ? " orphan" : "", f->retired ? " retired" : "");
    g_string_append_printf(text, "  watches: %u; own %s, predecessor %s\n", f->watches,
                           f->own ? f->own : "none", f->predecessor ? f->predecessor : "none");
}

static const char *replay_path_of(uint8_t node)
{
    return node == MODEL_NONE ? NULL : library_path(node);
}

static unsigned replay_count_watches(const struct client *c)
{
    unsigned count = 0;

    for (uint8_t n = 0; n < MODEL_NODES; n++)
        count += link_watch_asked(c, n) || (c->armed & MODEL_BIT(n)) || c->own_watch == n ||
                 c->predecessor_watch == n;
    return count;
}

static void replay_put_model(GString *text, const struct client *c)
{
    const struct facts facts = {.up = c->connected,
                                .established = c->established,
                                .in_time = c->in_time,
                                .decided = c->decided,
                                .owned = c->grant,
                                .timer = c->timer,
                                .orphan = c->orphan,
                                .retired = c->machine.state == ST_DONE,
                                .watches = replay_count_watches(c),
                                .own = replay_path_of(c->own_watch),
                                .predecessor = replay_path_of(c->predecessor_watch)};

    replay_put_attempt(text, &c->machine);
    replay_put_facts(text, &facts);
    library_expects(c, text);
}

static void replay_put_library(GString *text, const struct actor *a)
{
    const zkl_session *s = a->session;
    struct contender *c = a->contender;
    const struct timer *timer = c->driver.timer;
    const struct facts facts = {.up = s->up,
                                .established = s->id != 0,
                                .in_time = proofs_deadline(&s->proofs, a->now) != DEADLINE_NONE,
                                .decided = a->decisions == 1,
                                .owned = a->grant && zkl_grant_state(a->grant) <= ZKL_SUSPECT,
                                .timer = timer && timer->at && c->machine.state != ST_LOST,
                                .orphan = s->orphans > 0,
                                .retired = c->retired,
                                .watches = g_hash_table_size(s->watches),
                                .own = driver_watch_path(&c->driver, ATTEMPT_OWN),
                                .predecessor = driver_watch_path(&c->driver, ATTEMPT_PREDECESSOR)};

    replay_put_attempt(text, &c->machine);
    replay_put_facts(text, &facts);
    library_asks(a, text);
}

/* ---- walks ---- */

struct walk {
    struct state before, st;
    uint64_t chance;
    uint32_t faulty; /* percent of its moves, while there are any left */
    GString *told;   /* the moves so far */
    GString *model, *library;
};

static void tell_difference(const struct walk *w, const char *why)
{
    printf("DIFFERENT behind\n%s%sthe model:\n%sthe library:\n%s", w->told->str, why, w->model->str,
           w->library->str);
}

/* Only whom the move concerns can have changed. */
static bool agree(struct walk *w, int i, const char *why)
{
    const struct actor *a = library_actor(i);

    g_string_truncate(w->model, 0);
    g_string_truncate(w->library, 0);
    if (a->contender) {
        replay_put_model(w->model, &w->st.clients[i]);
        replay_put_library(w->library, a);
    }
    if (!*why && g_string_equal(w->model, w->library))
        return true;
    tell_difference(w, why);
    return false;
}

static struct move choose(struct walk *w, const struct move *moves, int count)
{
    int fair = 0;
    bool fault;

    while (fair < count && move_is_fair(moves[fair]))
        fair++;
    fault = fair == 0 || (fair < count && seeded_below(&w->chance, 100) < w->faulty);
    return fault ? moves[fair + (int)seeded_below(&w->chance, (uint32_t)(count - fair))]
                 : moves[seeded_below(&w->chance, (uint32_t)fair)];
}

static struct walk *walking;

/* Tells what led to a crash of the library or of the recipe. */
static void on_crash(int sig)
{
    signal(sig, SIG_DFL);
    printf("CRASHED behind\n%s", walking->told->str);
    fflush(stdout);
    raise(sig);
}

static bool step(struct walk *w, struct move move)
{
    char text[100];

    move_describe(&w->st, move, text, sizeof(text));
    g_string_append_printf(w->told, "  %s\n", text);
    w->before = w->st;
    move_do(&w->st, move);
    for (int i = 0; i < model_config.contenders; i++)
        breadth_reached(1U << w->st.clients[i].machine.state);
    return agree(w, move.at, library_do(&w->before, move, &w->st));
}

/* Returns how many moves it was; 0: model and library differ. */
static unsigned walk(struct walk *w)
{
    struct move moves[BREADTH_MOVES];
    struct model_shares shares = {.of = {0}};
    unsigned done = 0;
    bool same = true;

    for (int k = 0; k < model_config.faults; k++)
        shares.of[seeded_below(&w->chance, (uint32_t)model_config.contenders)]++;
    g_string_truncate(w->told, 0);
    w->faulty = 1 + seeded_below(&w->chance, FAULTY_MAX);
    model_init(&w->st, &shares);
    library_open();
    for (int count; same && done < MOVES && (count = move_list(&w->st, moves)) > 0; done++)
        same = step(w, choose(w, moves, count));
    library_close();
    return same ? done : 0;
}

enum breadth_end search_run(const char *title, uint32_t max_states, struct breadth_ends *ret_ends)
{
    (void)ret_ends;
    struct walk w = {.chance = g_str_hash(title),
                     .told = g_string_new(NULL),
                     .model = g_string_new(NULL),
                     .library = g_string_new(NULL)};
    unsigned walks = MIN(max_states, breadth_is_slow() ? WALKS_SLOW : WALKS), moves = 0, last = 1;

    walking = &w;
    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    for (unsigned k = 0; k < walks && last > 0; k++) {
        last = walk(&w);
        moves += last;
    }
    printf("%s: %u walks, %u moves\n", title, walks, moves);
    g_string_free(w.told, TRUE);
    g_string_free(w.model, TRUE);
    g_string_free(w.library, TRUE);
    return last > 0 ? BREADTH_HOLDS : BREADTH_BROKEN;
}
