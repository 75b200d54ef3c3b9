/* The search itself: a token that goes round between two places, where all that can be wrong with a
 * world is planted and must be found. usage: planted */
/* The build that measures coverage has no assertions. */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>

#include "breadth.h"

enum { FIRST, SECOND, GONE, PLACES };

struct token_state {
    unsigned place;
    uint8_t passes, faults;
};

struct token_config {
    enum { NOTHING, A_MOVE, AN_END, AN_ASSERTION, A_CIRCLE } wrong;
};

static const struct token_config *config;

enum token_move { TOKEN_PASS, TOKEN_REST, TOKEN_LOSE, TOKEN_MOVES };

static const struct breadth_kind moves[TOKEN_MOVES] = {
    [TOKEN_PASS] = {"passes on", FAIR, PLACES},
    [TOKEN_REST] = {"rests", PERHAPS, 1},
    [TOKEN_LOSE] = {"is lost", FAULT, 1},
};

static void init(void *state, const void *data)
{
    (void)state;
    config = data;
}

static bool may(const void *state, struct move move)
{
    const struct token_state *st = state;

    if (move.kind == TOKEN_PASS)
        return st->place == move.at && move.at != GONE && st->passes < 4;
    return st->place != GONE;
}

static void take(void *state, struct move move)
{
    struct token_state *st = state;

    if (move.kind == TOKEN_LOSE)
        st->place = GONE;
    if (move.kind != TOKEN_PASS)
        return;
    st->place = st->place == FIRST ? SECOND : FIRST;
    if (config->wrong != A_CIRCLE)
        st->passes++;
    breadth_require(config->wrong != A_MOVE || st->passes < 3, "a move");
    assert(config->wrong != AN_ASSERTION || st->passes < 3);
}

static const char *check_end(const void *state)
{
    const struct token_state *st = state;

    return config->wrong == AN_END && st->place != GONE ? "an end" : NULL;
}

static void print(const void *state)
{
    printf(" at %u", ((const struct token_state *)state)->place);
}

static const char *state_name(int state)
{
    static const char *const names[PLACES] = {"first", "second", "gone"};

    return names[state];
}

#define CONFIG(...) BREADTH_CONFIG(token_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"as it is", ALWAYS, 2, CONFIG(NOTHING)},   {"a move", PLANTED, 0, CONFIG(A_MOVE)},
    {"an end", PLANTED, 0, CONFIG(AN_END)},     {"an assertion", PLANTED, 0, CONFIG(AN_ASSERTION)},
    {"a circle", PLANTED, 0, CONFIG(A_CIRCLE)},
};

int main(int argc, char **argv)
{
    static const struct breadth_world world = {BREADTH_WORLD(struct token_state),
                                               .machine = offsetof(struct token_state, place),
                                               .machines = 1, .states = PLACES};

    return breadth_main(&world, argc, argv);
}
