/* The machine of a lock that is retained, in exchanges: what it is told, and what it asks for. */
#include "exchange.h"
#include "recipes/retain.h"
#include "runner.h"

#include <glib.h>
#include <stddef.h>

TEST_SUITE(retain);

enum { RETAIN_STEPS_MAX = 20 };

#define MS(n) ((n)*INT64_C(1000000))

/* At so many ms. */
#define EV(ms, name, ...)                                                                          \
    {                                                                                              \
        .ev.kind = RETAIN_EV_##name, .ev.now = MS(ms), ##__VA_ARGS__                               \
    }
#define DOUBT .doubt = true
#define TRIES .ev.tries = true
#define FIRST .ev.first = true
#define OTHERS .ev.others = true
#define WATCHED .ev.watched = true
#define WAITED .ev.waited = true

#define TURN                                                                                       \
    {EV(1, LOCK), "enter"},                                                                        \
    {                                                                                              \
        EV(2, GRANTED), "turn 0"                                                                   \
    }
/* It is idle since 3 ms, and looks for rivals; its timer comes due at 103. */
#define LOOKS                                                                                      \
    TURN,                                                                                          \
    {                                                                                              \
        EV(3, UNLOCK), "look arm 103"                                                              \
    }
/* There are none, and who comes will be heard of. */
#define IDLE                                                                                       \
    LOOKS,                                                                                         \
    {                                                                                              \
        EV(4, LOOKED, WATCHED), ""                                                                 \
    }
/* It is given up, and entered anew. */
#define ANEW                                                                                       \
    IDLE, {EV(5, YIELD), "end"},                                                                   \
    {                                                                                              \
        EV(6, LOCK), "enter-watch"                                                                 \
    }
/* Used again, with the timer gone. */
#define HELD(name, ...)                                                                            \
    IDLE, {EV(4, name, ##__VA_ARGS__), "turn 1"},                                                  \
    {                                                                                              \
        EV(4, TIMER), ""                                                                           \
    }
/* And somebody waits for it here. */
#define USED_AND_WANTED                                                                            \
    HELD(LOCK),                                                                                    \
    {                                                                                              \
        EV(5, LOCK), ""                                                                            \
    }
/* Somebody comes while the session is in doubt. */
#define DOUBTED                                                                                    \
    IDLE,                                                                                          \
    {                                                                                              \
        EV(5, LOCK, DOUBT), ""                                                                     \
    }
/* The first comes, and another waits behind it. */
#define TWO                                                                                        \
    {EV(1, LOCK), "enter"},                                                                        \
    {                                                                                              \
        EV(2, LOCK), ""                                                                            \
    }
/* The same, where the first only tries. */
#define TWO_TRY                                                                                    \
    {EV(1, LOCK, TRIES), "enter-tries"},                                                           \
    {                                                                                              \
        EV(2, LOCK), ""                                                                            \
    }
/* What it takes to get the lock alone is 2 ms: so much is saved by each turn but the first. */
#define ALONE                                                                                      \
    {EV(1, LOCK), "enter"},                                                                        \
    {                                                                                              \
        EV(3, GRANTED, .ev.watched = true), "turn 0"                                               \
    }
/* A rival takes the idle tenure back. */
#define TAKEN_BACK                                                                                 \
    ALONE, {EV(4, UNLOCK), "arm 104"},                                                             \
    {                                                                                              \
        EV(10, RIVAL), "end"                                                                       \
    }

/* It looks at 5 ms. */
#define LOOKED_AT                                                                                  \
    {EV(1, LOCK), "enter"}, {EV(1, GRANTED), "turn 0"},                                            \
    {                                                                                              \
        EV(5, UNLOCK), "look arm 105"                                                              \
    }

struct retain_told {
    struct retain_event ev;
    bool doubt;   /* the deadline has passed, or the session is in doubt */
    int64_t more; /* ns after its ms */
};

struct retain_row {
    const char *what;
    struct retain machine; /* as it is configured */
    struct {
        struct retain_told told;
        const char *acts; /* in words, divided by blanks; times in ms */
    } steps[RETAIN_STEPS_MAX];
};

static void put(GString *text, const struct retain_action *a)
{
    static const char *const words[] = {
        [RETAIN_ACT_TURN] = "turn", [RETAIN_ACT_BUSY] = "busy",       [RETAIN_ACT_ENTER] = "enter",
        [RETAIN_ACT_END] = "end",   [RETAIN_ACT_ABANDON] = "abandon", [RETAIN_ACT_LOOK] = "look",
        [RETAIN_ACT_FAIL] = "fail", [RETAIN_ACT_ARM] = "arm",
    };

    g_string_append_printf(text, "%s%s", text->len ? " " : "", words[a->kind]);
    if (a->kind == RETAIN_ACT_TURN)
        g_string_append_printf(text, " %" G_GUINT64_FORMAT, a->turn);
    else if (a->kind == RETAIN_ACT_BUSY)
        g_string_append(text, a->last ? "-last" : "-first");
    else if (a->kind == RETAIN_ACT_ENTER)
        g_string_append_printf(text, "%s%s", a->tries ? "-tries" : "", a->watch ? "-watch" : "");
    else if (a->kind == RETAIN_ACT_ARM)
        g_string_append_printf(text, " %" G_GINT64_FORMAT, a->at / MS(1));
}

/* What it asks for then; g_free() it. */
static char *play_step(struct retain *r, const struct retain_told *told)
{
    struct retain_event ev = told->ev;
    struct retain_actions actions;
    GString *text = g_string_new(NULL);

    ev.now += told->more;
    ev.sure = !told->doubt;
    retain_step(r, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put(text, &actions.list[i]);
    return g_string_free(text, FALSE);
}

static void play(const struct retain_row *row)
{
    struct retain r = row->machine;

    if (r.retain_ns == 0)
        r.retain_ns = MS(100);
    if (r.local_turns == 0)
        r.local_turns = 2;
    retain_init(&r);
    for (int k = 0; k < RETAIN_STEPS_MAX && row->steps[k].acts; k++) {
        char *acts = play_step(&r, &row->steps[k].told);
        exchange_check(acts, row->steps[k].acts, row->what, k);
    }
}

/* Plays each row from the beginning. What a row does not configure is this: a tenure is idle for
 * 100 ms, and two local waiters go first. */
static void play_all(const struct retain_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}

TEST_CASE(turns)
{
    static const struct retain_row rows[] = {
        {"one at a time, in order, numbered anew in each tenure",
         .steps = {{EV(1, LOCK), "enter"},
                   {EV(1, LOCK), ""},
                   {EV(2, GRANTED), "turn 0"},
                   {EV(3, LOCK), ""},
                   {EV(4, UNLOCK), "look turn 1"},
                   {EV(5, LOOKED, WATCHED), ""},
                   {EV(6, UNLOCK), "turn 2"},
                   {EV(7, UNLOCK), "arm 107"},
                   {EV(8, LOCK), "turn 3"},
                   {EV(9, ENDED), ""},
                   {EV(10, LOCK), "enter-watch"},
                   {EV(11, GRANTED, WATCHED), "turn 0"}}},
        {"none in doubt, by hand-over neither", .steps = {USED_AND_WANTED,
                                                          {EV(6, UNLOCK, DOUBT), "arm 106"},
                                                          {EV(7, LOCK, DOUBT), ""},
                                                          {EV(8, PROVED, DOUBT), ""},
                                                          {EV(9, PROVED), "turn 2"},
                                                          {EV(10, PROVED), ""},
                                                          {EV(11, UNLOCK), "turn 3"},
                                                          {EV(12, UNLOCK), ""}}},
        {"none from idle in doubt; then it is the turn of who came first",
         .steps =
             {DOUBTED, {EV(6, LOCK), "turn 1"}, {EV(7, UNLOCK), "turn 2"}, {EV(8, PROVED), ""}}},
        {"what was doubted is idle when nobody waits any more",
         .steps =
             {DOUBTED, {EV(6, GAVE_UP, DOUBT), ""}, {EV(7, PROVED), ""}, {EV(8, LOCK), "turn 1"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(attempts)
{
    static const struct retain_row rows[] = {
        {"that fails: for the first; who came behind it gets another",
         .steps = {TWO,
                   {EV(3, FAILED), "fail enter"},
                   {EV(4, FAILED), "fail"},
                   {EV(5, LOCK), "enter"},
                   {EV(6, GRANTED), "turn 0"},
                   {EV(7, UNLOCK), "look arm 107"}}},
        {"that fails when the first has left: for nobody", .steps = {TWO,
                                                                     {EV(3, GAVE_UP, FIRST), ""},
                                                                     {EV(4, FAILED), "enter"},
                                                                     {EV(5, LOCK), ""},
                                                                     {EV(6, GAVE_UP), ""},
                                                                     {EV(7, FAILED), "fail"}}},
        {"that succeeds when the first has left", .steps = {TWO,
                                                            {EV(3, GAVE_UP, FIRST), ""},
                                                            {EV(4, GRANTED), "turn 0"},
                                                            {EV(5, ENDED), ""},
                                                            {EV(6, LOCK), "enter-watch"},
                                                            {EV(7, FAILED), "fail"}}},
        {"for which nobody waits any more", .steps = {TWO,
                                                      {EV(3, GAVE_UP), ""},
                                                      {EV(4, GAVE_UP), "abandon"},
                                                      {EV(5, GRANTED), ""},
                                                      {EV(6, FAILED), ""},
                                                      {EV(7, LOCK), "enter"}}},
        {"not if somebody was behind", .steps = {{EV(1, LOCK), "enter"},
                                                 {EV(2, GRANTED, OTHERS), "turn 0"},
                                                 {EV(3, UNLOCK), "end"},
                                                 {EV(4, LOCK), "enter"}}},
        {"nor ahead", .steps = {{EV(1, LOCK), "enter"},
                                {EV(2, GRANTED, WAITED), "turn 0"},
                                {EV(3, ENDED), ""},
                                {EV(4, LOCK), "enter"}}},
        {"nor if the last attempt failed",
         .steps = {ANEW, {EV(7, FAILED), "fail"}, {EV(8, LOCK), "enter"}}},
        {"nor if somebody was heard of", .steps = {IDLE,
                                                   {EV(5, LOCK), "turn 1"},
                                                   {EV(6, RIVAL), ""},
                                                   {EV(7, ENDED), ""},
                                                   {EV(8, LOCK), "enter"}}},
        {"nor if that was before an answer", .steps = {TURN,
                                                       {EV(3, LOCK), ""},
                                                       {EV(4, UNLOCK), "look turn 1"},
                                                       {EV(5, RIVAL), ""},
                                                       {EV(6, LOOKED, WATCHED), ""},
                                                       {EV(7, ENDED), ""},
                                                       {EV(8, LOCK), "enter"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(ends)
{
    static const struct retain_row rows[] = {
        {"idle for too long: timed from the last turn", .steps = {IDLE,
                                                                  {EV(50, LOCK), "turn 1"},
                                                                  {EV(60, UNLOCK), ""},
                                                                  {EV(103, TIMER), "arm 160"},
                                                                  {EV(159, TIMER), "arm 160"},
                                                                  {EV(160, TIMER), "end"},
                                                                  {EV(161, TIMER), ""},
                                                                  {EV(162, LOCK), "enter-watch"}}},
        {"each tenure has its own", .steps = {ANEW,
                                              {EV(7, GRANTED, WATCHED), "turn 0"},
                                              {EV(8, UNLOCK), "arm 108"},
                                              {EV(108, TIMER), "end"}}},
        {"not while somebody waits in doubt", .steps = {DOUBTED,
                                                        {EV(103, TIMER, DOUBT), "arm 203"},
                                                        {EV(104, GAVE_UP), ""},
                                                        {EV(203, TIMER, DOUBT), "end"}}},
        {"a tenure that cannot serve another turn: the caller that waits has another, entered "
         "first",
         .steps = {HELD(LOCK),
                   {EV(5, UNLOCK, .ev.must_end = true), "end"},
                   {EV(6, LOCK), "enter-watch"},
                   {EV(7, LOCK), ""},
                   {EV(8, GRANTED, WATCHED), "turn 0"},
                   {EV(9, UNLOCK, .ev.must_end = true), "enter end"}}},
        {"the node is gone while idle",
         .steps = {IDLE, {EV(5, ENDED), ""}, {EV(6, RIVAL), ""}, {EV(7, LOCK), "enter-watch"}}},
        {"the node is gone in a turn: its owner says so in vain",
         .steps = {USED_AND_WANTED,
                   {EV(6, ENDED), "enter-watch"},
                   {EV(7, UNLOCK), ""},
                   {EV(8, GRANTED, WATCHED), "turn 0"}}},
        {"the deadline passes while somebody waits for the end of the doubt",
         .steps = {DOUBTED, {EV(6, ENDED, DOUBT), "enter-watch"}}},
        {"it is given up",
         .steps = {IDLE, {EV(5, YIELD), "end"}, {EV(6, YIELD), ""}, {EV(7, LOCK), "enter-watch"}}},
        {"not what is used", .steps = {HELD(LOCK), {EV(5, YIELD), ""}, {EV(6, UNLOCK), "arm 106"}}},
        {"but what somebody waits for in doubt: that has another",
         .steps = {DOUBTED, {EV(6, YIELD), "enter end"}}},
        {"it is closed while idle", .steps = {IDLE, {EV(5, CLOSE), "end"}, {EV(6, TIMER), ""}}},
        {"it is closed while it is used",
         .steps = {HELD(LOCK), {EV(5, CLOSE), ""}, {EV(6, UNLOCK), "end"}}},
        {"it is closed when there is nothing", .steps = {{EV(1, CLOSE), ""}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* Only what is configured stays. */
TEST_CASE(init)
{
    struct retain r = {.retain_ns = 1,
                       .local_turns = 3,
                       .fence64 = true,
                       .state = RETAIN_TURN,
                       .wanted = true,
                       .payoff = {.off_until = 4}};

    retain_init(&r);
    CHECK_INT(r.retain_ns, 1);
    CHECK_INT(r.local_turns, 3);
    CHECK_INT(r.fence64, true);
    CHECK_INT(r.state, RETAIN_NONE);
    CHECK(payoff_allows(&r.payoff, 3));
    CHECK_INT(retain_invariant(&r), true);
}

/* The diagram. */
TEST_CASE(moves)
{
    static const char *const allowed[RETAIN_STATES] = {
        [RETAIN_NONE] = "entering ",
        [RETAIN_ENTERING] = "none entering turn ",
        [RETAIN_TURN] = "none entering turn idle ",
        [RETAIN_IDLE] = "none entering turn ",
    };

    for (int from = 0; from < RETAIN_STATES; from++) {
        GString *text = g_string_new(NULL);
        for (int to = 0; to < RETAIN_STATES; to++) {
            if (retain_may_move((enum retain_state)from, (enum retain_state)to))
                g_string_append_printf(text, "%s ", retain_state_name((enum retain_state)to));
        }
        CHECK_STR(text->str, allowed[from]);
        g_string_free(text, TRUE);
    }
    CHECK_STR(retain_state_name(RETAIN_STATES), "?");
}

/* Each that does not hold is broken by one thing. */
TEST_CASE(invariant)
{
#define RESTS .state = RETAIN_IDLE, .armed = true
#define WANTED .state = RETAIN_TURN, .wanted = true, .local_turns = 3
    static const struct {
        struct retain r;
        bool holds;
    } rows[] = {
        {{.state = RETAIN_NONE}, true},
        {{.waiting = 1}, false},
        {{.wanted = true}, false},
        {{.watched = true}, false},
        {{.looking = true}, false},
        {{.turn = 1}, false},
        {{.trying = true}, false},
        {{.armed = true, .alone = true, .closed = true}, true},
        {{.state = RETAIN_ENTERING, .waiting = 1, .trying = true}, true},
        {{.state = RETAIN_ENTERING}, false},
        {{.state = RETAIN_ENTERING, .waiting = 1, .wanted = true}, false},
        {{.state = RETAIN_ENTERING, .waiting = 1, .left = true}, true},
        {{.state = RETAIN_TURN, .left = true}, false},
        {{.state = RETAIN_TURN}, true},
        {{.state = RETAIN_TURN, .turn = 1, .waiting = 2, .looking = true}, true},
        {{.state = RETAIN_TURN, .trying = true, .waiting = 1}, false},
        {{.state = RETAIN_TURN, .closed = true}, true},
        {{.state = RETAIN_TURN, .closed = true, .waiting = 1}, false},
        {{WANTED, .payoff = {.kept_from = 1, .found = true}}, true},
        {{.state = RETAIN_TURN, .payoff = {.kept_from = 1}}, false},
        {{.state = RETAIN_TURN, .payoff = {.found = true}}, false},
        {{WANTED, .gate = 2, .waiting = 2}, true},
        {{WANTED, .gate = 3, .waiting = 4}, true},
        {{WANTED, .gate = 3, .waiting = 2}, false},
        {{WANTED, .gate = 4, .waiting = 4}, false},
        {{.state = RETAIN_TURN, .local_turns = 3, .gate = 1, .waiting = 1}, false},
        {{RESTS, .watched = true}, true},
        {{RESTS, .looking = true, .waiting = 1, .trying = true}, true},
        {{RESTS, .looking = true, .trying = true}, false},
        {{RESTS, .looking = true, .waiting = 1, .closed = true}, false},
        {{RESTS}, false},
        {{RESTS, .watched = true, .wanted = true}, false},
        {{.state = RETAIN_IDLE, .watched = true}, false},
    };
#undef RESTS
#undef WANTED

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!CHECK_INT(retain_invariant(&rows[i].r), rows[i].holds))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

/* ---- callers that try, and a token for each owner ---- */

TEST_CASE(tries)
{
    static const struct retain_row rows[] = {
        {"it has what is idle",
         .steps = {IDLE, {EV(5, LOCK, TRIES), "turn 1"}, {EV(6, LOCK, TRIES), "busy-last"}}},
        {"an attempt of its own", .steps = {{EV(1, LOCK, TRIES), "enter-tries"},
                                            {EV(2, LOCK, TRIES), "busy-last"},
                                            {EV(3, GRANTED), "turn 0"}}},
        {"not while others here wait for an attempt", .steps = {{EV(1, LOCK), "enter"},
                                                                {EV(2, LOCK, TRIES), "busy-last"},
                                                                {EV(3, GRANTED), "turn 0"}}},
        {"others elsewhere are first; who waits here goes on",
         .steps = {TWO_TRY,
                   {EV(3, FAILED, .ev.busy = true), "busy-first enter"},
                   {EV(4, GRANTED), "turn 0"}}},
        {"others elsewhere are first, nobody waits here",
         .steps = {{EV(1, LOCK, TRIES), "enter-tries"},
                   {EV(2, FAILED, .ev.busy = true), "busy-first"},
                   {EV(3, LOCK), "enter"}}},
        {"it has left: nobody is refused for it",
         .steps = {TWO_TRY,
                   {EV(3, GAVE_UP, FIRST), ""},
                   {EV(4, FAILED, .ev.busy = true), "enter"},
                   {EV(5, GRANTED), "turn 0"}}},
        {"another has left",
         .steps = {TWO_TRY, {EV(3, GAVE_UP), ""}, {EV(4, FAILED, .ev.busy = true), "busy-first"}}},
        {"it was served: the next attempt is not for it",
         .steps = {TWO_TRY, {EV(3, GRANTED), "turn 0"}, {EV(4, ENDED), "enter-watch"}}},
        {"in doubt it waits, for itself alone, and nobody else may try",
         .steps = {IDLE,
                   {EV(5, LOCK, DOUBT, TRIES), ""},
                   {EV(6, LOCK, DOUBT, TRIES), "busy-last"},
                   {EV(7, LOCK, TRIES), "busy-last"},
                   {EV(8, PROVED), "turn 1"},
                   {EV(9, ENDED), ""},
                   {EV(10, LOCK), "enter-watch"}}},
        {"the doubt ends the tenure: it still does not wait for others",
         .steps = {IDLE,
                   {EV(5, LOCK, DOUBT, TRIES), ""},
                   {EV(6, LOCK, DOUBT), ""},
                   {EV(7, ENDED), "enter-tries-watch"},
                   {EV(8, FAILED, .ev.busy = true), "busy-first enter"}}},
        {"so does a rival that is heard of",
         .steps = {IDLE, {EV(5, LOCK, DOUBT, TRIES), ""}, {EV(6, RIVAL), "end enter-tries"}}},
        {"unless it has left in the doubt", .steps = {IDLE,
                                                      {EV(5, LOCK, DOUBT, TRIES), ""},
                                                      {EV(6, LOCK, DOUBT), ""},
                                                      {EV(7, GAVE_UP, FIRST), ""},
                                                      {EV(8, RIVAL), "enter end"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(fence64)
{
#define SAME .ev.same = true
    static const struct retain_row rows[] = {
        {"the same owner again",
         {.fence64 = true},
         {IDLE, {EV(5, LOCK, SAME), "turn 1"}, {EV(6, UNLOCK), ""}}},
        {"another one",
         {.fence64 = true},
         {IDLE,
          {EV(5, LOCK), "enter end"},
          {EV(6, GRANTED, WATCHED), "turn 0"},
          {EV(7, LOCK), ""},
          {EV(8, UNLOCK), "enter end"}}},
        {"that tries: the node goes first, or would be the one that it finds ahead",
         {.fence64 = true},
         {IDLE, {EV(5, LOCK, TRIES), "end enter-tries-watch"}}},
        {"the same owner waits first",
         {.fence64 = true},
         {HELD(LOCK, SAME), {EV(5, LOCK), ""}, {EV(6, UNLOCK, SAME), "turn 2"}}},
        {"another one waits for the end of a doubt",
         {.fence64 = true},
         {IDLE, {EV(5, LOCK, DOUBT, SAME), ""}, {EV(6, PROVED), "enter end"}}},
    };
#undef SAME

    play_all(rows, G_N_ELEMENTS(rows));
}

/* ---- whether that pays ---- */

TEST_CASE(pays)
{
    static const struct retain_row rows[] = {
        {"idle: the rival's wait is what it takes to get the lock, nine times",
         .steps = {TAKEN_BACK,
                   {EV(27, LOCK), "enter"},
                   {EV(27, GRANTED), "turn 0"},
                   {EV(28, UNLOCK, .more = -1), "end"},
                   {EV(28, LOCK, .more = -1), "enter"},
                   {EV(28, GRANTED, .more = -1), "turn 0"},
                   {EV(28, UNLOCK), "look arm 128"}}},
        {"what it takes is not what an outage takes",
         .steps = {{EV(1, LOCK), "enter"},
                   {EV(903, GRANTED, .ev.watched = true, .ev.delayed = true), "turn 0"},
                   {EV(904, UNLOCK), "arm 1004"},
                   {EV(910, RIVAL), "end"},
                   {EV(911, LOCK), "enter"},
                   {EV(913, GRANTED), "turn 0"},
                   {EV(914, UNLOCK), "look arm 1014"}}},
        {"each turn but the first was worth it", .steps = {ALONE,
                                                           {EV(4, LOCK), ""},
                                                           {EV(4, UNLOCK), "turn 1"},
                                                           {EV(4, UNLOCK), "arm 104"},
                                                           {EV(10, RIVAL), "end"},
                                                           {EV(20, LOCK), "enter"},
                                                           {EV(20, GRANTED), "turn 0"},
                                                           {EV(26, UNLOCK, .more = -1), "end"},
                                                           {EV(26, LOCK), "enter-watch"}}},
        {"from the end of a turn on, if it was used, as long as others went first",
         .steps = {ALONE,
                   {EV(4, LOCK), ""},
                   {EV(5, RIVAL), ""},
                   {EV(10, UNLOCK), "turn 1"},
                   {EV(11, UNLOCK), "end"},
                   {EV(17, LOCK), "enter"},
                   {EV(17, GRANTED), "turn 0"},
                   {EV(18, UNLOCK, .more = -1), "end"},
                   {EV(18, LOCK), "enter-watch"}}},
        {"nobody has waited for more than the turn", .steps = {ALONE,
                                                               {EV(4, RIVAL), ""},
                                                               {EV(90, UNLOCK), "end"},
                                                               {EV(90, LOCK), "enter"},
                                                               {EV(91, GRANTED), "turn 0"},
                                                               {EV(92, UNLOCK), "look arm 192"}}},
        {"since it looked, not since the turn behind that",
         .steps = {{EV(1, LOCK), "enter"},
                   {EV(1, LOCK), ""},
                   {EV(1, GRANTED), "turn 0"},
                   {EV(5, UNLOCK), "look turn 1"},
                   {EV(6, LOOKED, OTHERS), ""},
                   {EV(7, UNLOCK), "end"},
                   {EV(24, LOCK), "enter"},
                   {EV(24, GRANTED), "turn 0"},
                   {EV(25, UNLOCK, .more = -1), "end"},
                   {EV(25, LOCK), "enter-watch"}}},
        {"what it takes to get the lock is not known, but what it takes to look",
         .steps = {{EV(1, LOCK), "enter"},
                   {EV(3, GRANTED, WAITED), "turn 0"},
                   {EV(4, UNLOCK), "look arm 104"},
                   {EV(6, LOOKED, WATCHED), ""},
                   {EV(10, RIVAL), "end"},
                   {EV(27, LOCK), "enter"},
                   {EV(27, GRANTED, WAITED), "turn 0"},
                   {EV(28, UNLOCK, .more = -1), "end"},
                   {EV(28, LOCK), "enter"},
                   {EV(28, GRANTED, WAITED), "turn 0"},
                   {EV(28, UNLOCK), "look arm 128"}}},
        {"off, but who comes will be heard of: who waits here goes on",
         .steps = {TAKEN_BACK,
                   {EV(11, LOCK), "enter"},
                   {EV(11, LOCK), ""},
                   {EV(11, GRANTED, WATCHED), "turn 0"},
                   {EV(12, UNLOCK), "turn 1"},
                   {EV(13, UNLOCK), "end"}}},
        {"off: as if a rival waited, local_turns go first, not later than 50 ms",
         .steps = {TAKEN_BACK,
                   {EV(11, LOCK), "enter"},
                   {EV(11, LOCK), ""},
                   {EV(11, LOCK), ""},
                   {EV(11, LOCK), ""},
                   {EV(11, GRANTED), "turn 0"},
                   {EV(12, UNLOCK), "turn 1"},
                   {EV(13, UNLOCK), "turn 2"},
                   {EV(14, UNLOCK), "enter end"},
                   {EV(15, GRANTED), "turn 0"},
                   {EV(15, UNLOCK), "end"},
                   {EV(28, LOCK, .more = -1), "enter"},
                   {EV(28, GAVE_UP), "abandon"},
                   {EV(28, LOCK), "enter-watch"}}},
        {"off: to the ns",
         {.local_turns = 9},
         {LOOKED_AT,
          {EV(95, LOOKED, OTHERS), "end"},
          {EV(96, LOCK), "enter"},
          {EV(96, LOCK), ""},
          {EV(96, LOCK), ""},
          {EV(96, GRANTED), "turn 0"},
          {EV(146, UNLOCK), "turn 1"},
          {EV(146, UNLOCK, .more = 1), "enter end"}}},
        {"off, and in doubt: it ends", .steps = {TAKEN_BACK,
                                                 {EV(11, LOCK), "enter"},
                                                 {EV(11, LOCK), ""},
                                                 {EV(11, GRANTED), "turn 0"},
                                                 {EV(12, UNLOCK, DOUBT), "enter end"}}},
        {"found behind a turn that a rival waits for already: since that turn ends",
         .steps = {{EV(1, LOCK), "enter"},
                   {EV(1, LOCK), ""},
                   {EV(1, GRANTED), "turn 0"},
                   {EV(5, UNLOCK), "look turn 1"},
                   {EV(6, RIVAL), ""},
                   {EV(7, LOOKED, OTHERS), ""},
                   {EV(8, UNLOCK), "end"},
                   {EV(8, LOCK), "enter"},
                   {EV(8, GRANTED), "turn 0"},
                   {EV(8, UNLOCK), "look arm 108"}}},
        {"lost: no rival is kept out", .steps = {ALONE,
                                                 {EV(4, LOCK), ""},
                                                 {EV(5, RIVAL), ""},
                                                 {EV(6, UNLOCK), "turn 1"},
                                                 {EV(9, ENDED), ""},
                                                 {EV(9, LOCK), "enter"},
                                                 {EV(9, GRANTED), "turn 0"},
                                                 {EV(9, UNLOCK), "look arm 109"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* A tenure of one who waited looks at the time at, ms, and hears a ms later what there is. */
static void look(struct retain *r, int64_t at, bool others)
{
    const struct retain_told told[] = {EV(at, LOCK), EV(at, GRANTED, WAITED), EV(at, UNLOCK),
                                       EV(at + 1, LOOKED, .ev.others = others, WATCHED),
                                       EV(at + 1, YIELD)};

    for (size_t i = 0; i < G_N_ELEMENTS(told); i++)
        g_free(play_step(r, &told[i]));
    CHECK_INT(r->state, RETAIN_NONE);
}

/* Each that finds a rival costs twice as much as the one before, at most eight times. */
TEST_CASE(doubles)
{
    static const int64_t off[] = {9, 18, 36, 72, 72};
    static const struct retain_told alone[] = {EV(900, LOCK), EV(901, GRANTED),
                                               EV(901, UNLOCK, .ev.must_end = true)};
    struct retain r = {.retain_ns = MS(100), .local_turns = 2};
    int64_t now = 0;

    retain_init(&r);
    for (int again = 0; again < 3; again++) {
        now++;
        for (size_t i = 0; i < G_N_ELEMENTS(off); i++) {
            look(&r, now, true);
            now += 1 + off[i];
            CHECK(!payoff_allows(&r.payoff, MS(now) - 1));
            CHECK(payoff_allows(&r.payoff, MS(now)));
        }
        if (again == 0) { /* it begins anew with one that finds nobody, */
            look(&r, now, false);
        } else { /* or that gets the lock at once */
            for (size_t i = 0; i < G_N_ELEMENTS(alone); i++)
                g_free(play_step(&r, &alone[i]));
        }
    }
}

enum payoff_call {
    ASK,
    GRANTED,
    GRANTED_LATE,
    LOOKED,
    FOUND,
    NOT_FOUND,
    RECALLED,
    KEPT_OUT,
    SETTLE,
    FORGET
};

static void payoff_call(struct payoff *p, enum payoff_call which, int64_t now, uint64_t turns)
{
    if (which == ASK)
        payoff_ask(p, now);
    else if (which == GRANTED || which == GRANTED_LATE)
        payoff_granted(p, now, which == GRANTED_LATE);
    else if (which == LOOKED)
        payoff_looked(p, now);
    else if (which == FOUND || which == NOT_FOUND)
        payoff_found(p, which == FOUND);
    else if (which == RECALLED)
        payoff_recalled(p, now);
    else if (which == KEPT_OUT)
        payoff_kept_out(p, now);
    else if (which == SETTLE)
        payoff_settle(p, now, turns);
    else
        payoff_forget(p);
}

/* What each call makes of what was noted before. */
TEST_CASE(accounts)
{
#define LONG (INT64_C(1) << 45)
#define ASKED .asked = 7
#define SAVES(ns) .alone_ns = (ns)
#define KEPT .kept_from = 10
#define OFF(until) .off_until = (until)
#define HAS_FOUND(before) SAVES(2), KEPT, .found = true, .finds = (before)
    static const struct {
        const char *what;
        struct payoff before;
        enum payoff_call which;
        int64_t now;
        uint64_t turns;
        struct payoff after;
    } rows[] = {
        {"a request", {.alone_ns = 2}, ASK, 7, 0, {ASKED, .alone_ns = 2}},
        {"its answer measures, and ends a row of finds",
         {ASKED, .alone_ns = 5, .finds = 2},
         GRANTED,
         9,
         0,
         {ASKED, .alone_ns = 2}},
        {"over two connections it does not measure",
         {ASKED, .alone_ns = 5, .finds = 2},
         GRANTED_LATE,
         9,
         0,
         {ASKED, .alone_ns = 5}},
        {"a look measures", {ASKED, .finds = 2}, LOOKED, 9, 0, {ASKED, .alone_ns = 2}},
        {"but not where something has",
         {ASKED, .alone_ns = 5, .finds = 2},
         LOOKED,
         9,
         0,
         {ASKED, .alone_ns = 5}},
        {"found since the look", {ASKED}, FOUND, 9, 0, {ASKED, .kept_from = 7, .found = true}},
        {"perhaps", {ASKED}, NOT_FOUND, 9, 0, {ASKED, .kept_from = 7}},
        {"an idle tenure is recalled", {SAVES(2)}, RECALLED, 9, 0, {SAVES(2), .kept_from = 7}},
        {"for one that was found", {SAVES(2), KEPT}, RECALLED, 99, 0, {SAVES(2), KEPT}},
        {"a turn ends", {SAVES(2)}, KEPT_OUT, 10, 0, {SAVES(2), KEPT}},
        {"another one", {SAVES(2), KEPT}, KEPT_OUT, 12, 0, {SAVES(2), KEPT}},
        {"lost",
         {SAVES(2), KEPT, .found = true, .finds = 2, OFF(30)},
         FORGET,
         12,
         0,
         {SAVES(2), .finds = 2, OFF(30)}},
        {"no rival", {SAVES(2), .finds = 1}, SETTLE, 12, 0, {SAVES(2), .finds = 1}},
        {"nine times its wait", {SAVES(2), KEPT}, SETTLE, 12, 0, {SAVES(2), OFF(30)}},
        {"less what was saved", {SAVES(2), KEPT}, SETTLE, 12, 3, {SAVES(2), OFF(24)}},
        {"all of it", {SAVES(2), KEPT}, SETTLE, 12, 9, {SAVES(2), OFF(12)}},
        {"more than that", {SAVES(2), KEPT}, SETTLE, 12, 10, {SAVES(2), OFF(12)}},
        {"not quite all", {SAVES(4), KEPT}, SETTLE, 12, 4, {SAVES(4), OFF(14)}},
        {"a little more", {SAVES(4), KEPT}, SETTLE, 12, 5, {SAVES(4), OFF(12)}},
        {"by one ns", {SAVES(1), KEPT}, SETTLE, 12, 19, {SAVES(1), OFF(12)}},
        {"hours of turns: more than can be multiplied by what each has saved",
         {SAVES(MS(150)), .kept_from = LONG},
         SETTLE,
         LONG + MS(1),
         62 * UINT64_C(1000000000),
         {SAVES(MS(150)), OFF(LONG + MS(1))}},
        {"not measured yet", {KEPT}, SETTLE, 12, 5, {OFF(30)}},
        {"off for longer", {SAVES(2), KEPT, OFF(31)}, SETTLE, 12, 0, {SAVES(2), OFF(31)}},
        {"or not", {SAVES(2), KEPT, OFF(29)}, SETTLE, 12, 0, {SAVES(2), OFF(30)}},
        {"found: no turn is a gain",
         {HAS_FOUND(0)},
         SETTLE,
         12,
         99,
         {SAVES(2), OFF(30), .finds = 1}},
        {"again: twice", {HAS_FOUND(1)}, SETTLE, 12, 99, {SAVES(2), OFF(48), .finds = 2}},
        {"eight times at most", {HAS_FOUND(3)}, SETTLE, 12, 99, {SAVES(2), OFF(156), .finds = 3}},
        {"heard of", {SAVES(2), KEPT, .finds = 2}, SETTLE, 12, 0, {SAVES(2), OFF(30), .finds = 2}},
    };
#undef HAS_FOUND
#undef OFF
#undef KEPT
#undef SAVES
#undef ASKED
#undef LONG
    static const struct payoff off = {.off_until = 5};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct payoff p = rows[i].before;
        const struct payoff *after = &rows[i].after;
        bool good = true;
        payoff_call(&p, rows[i].which, rows[i].now, rows[i].turns);
        good &= CHECK_INT(p.asked, after->asked);
        good &= CHECK_INT(p.alone_ns, after->alone_ns);
        good &= CHECK_INT(p.kept_from, after->kept_from);
        good &= CHECK_INT(p.off_until, after->off_until);
        good &= CHECK_INT(p.finds, after->finds);
        good &= CHECK_INT(p.found, after->found);
        if (!good)
            runner_fail(__FILE__, __LINE__, "%s", rows[i].what);
    }
    CHECK(!payoff_allows(&off, 4));
    CHECK(payoff_allows(&off, 5));
}

/* ---- rivals, and how soon they have it ---- */

TEST_CASE(hearing)
{
    static const struct retain_row rows[] = {
        {"an idle tenure ends at once; a caller that comes then is behind",
         .steps = {IDLE, {EV(5, RIVAL), "end"}, {EV(6, LOCK), "enter"}}},
        {"a used one when it is not used any more",
         .steps = {HELD(LOCK), {EV(5, RIVAL), ""}, {EV(6, UNLOCK), "end"}, {EV(7, RIVAL), ""}}},
        {"once heard of it is not forgotten", .steps = {USED_AND_WANTED,
                                                        {EV(6, RIVAL), ""},
                                                        {EV(7, UNLOCK), "turn 2"},
                                                        {EV(8, LOOKED, WATCHED), ""},
                                                        {EV(9, PROVED), ""},
                                                        {EV(10, UNLOCK), "end"}}},
        {"behind the grant: nothing to look for", .steps = {TWO,
                                                            {EV(3, GRANTED, OTHERS), "turn 0"},
                                                            {EV(4, UNLOCK), "turn 1"},
                                                            {EV(5, UNLOCK), "end"}}},
        {"before the grant: nothing is wanted", .steps = {{EV(1, LOCK), "enter"},
                                                          {EV(2, RIVAL), ""},
                                                          {EV(3, GRANTED, WAITED), "turn 0"},
                                                          {EV(4, UNLOCK), "look arm 104"}}},
        {"heard of in doubt, while somebody waits for the end of it",
         .steps = {DOUBTED, {EV(6, RIVAL, DOUBT), "enter end"}}},
        {"who waits here does not wait for the end of a doubt then",
         .steps = {USED_AND_WANTED, {EV(6, RIVAL), ""}, {EV(7, UNLOCK, DOUBT), "enter end"}}},
        {"nor does the lock",
         .steps = {HELD(LOCK), {EV(5, RIVAL), ""}, {EV(6, UNLOCK, DOUBT), "end"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(looking)
{
    static const struct retain_row rows[] = {
        {"behind a grant that was waited for, once, while turns go on",
         .steps = {{EV(1, LOCK), "enter"},
                   {EV(1, LOCK), ""},
                   {EV(1, LOCK), ""},
                   {EV(2, GRANTED, WAITED), "turn 0"},
                   {EV(3, UNLOCK), "look turn 1"},
                   {EV(4, UNLOCK), "turn 2"},
                   {EV(5, UNLOCK), "arm 105"},
                   {EV(6, LOCK), "turn 3"},
                   {EV(7, LOOKED, WATCHED), ""},
                   {EV(8, UNLOCK), ""},
                   {EV(9, LOCK), "turn 4"}}},
        {"there is somebody: an idle tenure ends",
         .steps = {LOOKS, {EV(4, LOOKED, OTHERS, WATCHED), "end"}, {EV(200, LOCK), "enter"}}},
        {"it could not be found out",
         .steps = {LOOKS, {EV(4, LOOKED), "end"}, {EV(200, LOCK), "enter"}}},
        {"there is somebody: the gate of a used one closes",
         {.local_turns = 1},
         {TWO,
          {EV(2, LOCK), ""},
          {EV(2, LOCK), ""},
          {EV(2, GRANTED, WAITED), "turn 0"},
          {EV(3, UNLOCK), "look turn 1"},
          {EV(4, LOOKED, OTHERS, WATCHED), ""},
          {EV(5, UNLOCK), "turn 2"},
          {EV(6, UNLOCK), "enter end"},
          {EV(7, LOOKED, WATCHED), ""}}},
        {"nothing is heard of what was asked in another tenure",
         .steps = {LOOKS,
                   {EV(4, LOCK), "turn 1"},
                   {EV(5, ENDED), ""},
                   {EV(6, LOOKED, OTHERS), ""},
                   {EV(7, LOCK), "enter-watch"},
                   {EV(8, GRANTED, WATCHED), "turn 0"},
                   {EV(9, LOOKED, OTHERS), ""},
                   {EV(10, UNLOCK), "arm 110"},
                   {EV(11, LOOKED, OTHERS), ""},
                   {EV(12, LOCK), "turn 1"}}},
        {"heard of before the answer, in a turn: the answer does not undo it",
         .steps = {LOOKS,
                   {EV(4, LOCK), "turn 1"},
                   {EV(5, RIVAL), ""},
                   {EV(6, LOOKED, WATCHED), ""},
                   {EV(7, UNLOCK), "end"}}},
        {"there is one answer to it", .steps = {IDLE,
                                                {EV(5, LOOKED, OTHERS), ""},
                                                {EV(6, LOCK), "turn 1"},
                                                {EV(7, LOOKED), ""}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(gate)
{
    static const struct retain_row rows[] = {
        {"no more than so many, whoever comes meanwhile", .steps = {USED_AND_WANTED,
                                                                    {EV(5, LOCK), ""},
                                                                    {EV(5, LOCK), ""},
                                                                    {EV(6, RIVAL), ""},
                                                                    {EV(7, UNLOCK), "turn 2"},
                                                                    {EV(8, LOCK), ""},
                                                                    {EV(9, UNLOCK), "turn 3"},
                                                                    {EV(10, UNLOCK), "enter end"}}},
        {"another rival does not open it again", .steps = {USED_AND_WANTED,
                                                           {EV(6, RIVAL), ""},
                                                           {EV(7, LOCK), ""},
                                                           {EV(8, UNLOCK), "turn 2"},
                                                           {EV(9, RIVAL), ""},
                                                           {EV(10, UNLOCK), "enter end"}}},
        {"it is as narrow as those who are left", .steps = {USED_AND_WANTED,
                                                            {EV(5, LOCK), ""},
                                                            {EV(6, RIVAL), ""},
                                                            {EV(7, GAVE_UP), ""},
                                                            {EV(7, GAVE_UP), ""},
                                                            {EV(7, LOCK), ""},
                                                            {EV(8, UNLOCK), "enter end"}}},
        {"no longer than 50 ms", .steps = {USED_AND_WANTED,
                                           {EV(5, LOCK), ""},
                                           {EV(6, RIVAL), ""},
                                           {EV(56, UNLOCK), "turn 2"},
                                           {EV(56, UNLOCK, .more = 1), "enter end"}}},
        {"behind a grant, of those who waited then", .steps = {{EV(1, LOCK), "enter"},
                                                               {EV(1, LOCK), ""},
                                                               {EV(2, GRANTED, OTHERS), "turn 0"},
                                                               {EV(3, LOCK), ""},
                                                               {EV(52, UNLOCK), "turn 1"},
                                                               {EV(52, UNLOCK), "enter end"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}
