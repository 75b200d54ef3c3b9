/* One contender and any events, under the promises of the random walks. The input: whether it only
 * tries, is strict, what is a long queue, how many parents there are and whether it watches the
 * children, then events: a byte that says which kind, one for the answer, and what the kind needs.
 * Plausible ones are answers to what is awaited; nonsense ones anything. */
#include "targets.h"

#include "input.h"
#include "recipes/rule.h"
#include "runner.h"
#include "unit/attempt_play.h"

static struct child children[PLAY_CHILDREN];

static int32_t attempt_fuzz_take_number(struct input *in)
{
    int8_t small = (int8_t)input_byte(in);

    return small == INT8_MAX ? INT32_MAX : small;
}

static void attempt_fuzz_take_children(struct input *in, struct play_event *h)
{
    h->m.children = children;
    h->ev.count = input_byte(in) % (PLAY_CHILDREN + 1);
    for (uint32_t i = 0; i < h->ev.count; i++) {
        unsigned flags = input_byte(in);
        const enum rule rule = flags & 1 ? RULE_NONE : flags & 16 ? RULE_LATCH : RULE_LOCK;
        children[i] = (struct child){
            .id = i,
            .kind = rule_kind(rule),
            .rule = rule,
            .own = (flags & 2) != 0,
            .old = (flags & 4) != 0,
            .retains = (flags & 32) != 0,
            .number = flags & 8 ? play.c.number : attempt_fuzz_take_number(in),
        };
    }
}

/* What only some answers have. */
static void attempt_fuzz_take_details(struct input *in, struct play_event *h)
{
    switch (h->row) {
    case PLAY_CREATED:
    case PLAY_READ:
        h->m.number = attempt_fuzz_take_number(in);
        h->ev.czxid = 1 + (uint64_t)input_byte(in);
        break;
    case PLAY_LISTED:
    case PLAY_LOOKED:
        attempt_fuzz_take_children(in, h);
        break;
    case PLAY_HINT:
    case PLAY_DIRECTORY:
        h->ev.count = input_byte(in);
        break;
    case PLAY_ABOVE:
        h->ev.node += input_byte(in) % 2;
        break;
    default:
        break;
    }
    if (h->row == PLAY_LISTED || h->row == PLAY_LOOKED || h->row == PLAY_HINT) {
        h->m.hint = (enum head_hint)(input_byte(in) % (HINT_NAMED + 1));
        h->ev.version = input_byte(in) % 3;
    }
}

static void attempt_fuzz_take_event(struct input *in, struct play_event *h)
{
    const unsigned what = input_byte(in), answer = input_byte(in);
    const bool nonsense = what & 0x80;
    const enum store_rc rc = (enum store_rc)(answer % 16);

    *h = play_event_of(nonsense ? (enum play_row)(what % PLAY_ROWS) : promises_likely(what));
    if (rc <= STORE_LIMIT && promises_may_answer(h->row, rc))
        h->ev.rc = rc;
    if (nonsense && what & 0x40)
        h->to.question--;
    h->m.in_time = !(answer & 0x10);
    h->ev.gone = (answer & 0x20) != 0;
    h->ev.own = h->row == PLAY_WATCHED ? (what & 0x20) != 0 : !(answer & 0x40);
    h->ev.watched = h->row < PLAY_ANSWERS && play.asked[h->row].watch && answer & 0x80;
    h->m.connection = (answer & 0x80) != 0;
    h->m.container = !(answer & 0x40);
    h->m.unused = !(answer & 0x20);
    attempt_fuzz_take_details(in, h);
}

static void attempt_fuzz_give(const struct play_event *h)
{
    const char *broken = promises_give(h);

    if (broken)
        runner_fail(__FILE__, __LINE__, "%s: event %d, now %s: %s", broken, (int)h->row,
                    attempt_state_name(play.c.state), play_actions());
}

void fuzz_attempt(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct play_event h;

    unsigned how = input_byte(&in);
    play_start(how & 1);
    play.c.strict = how & 2;
    play.c.long_queue = how >> 2 & 3;
    play.parents = how >> 4 & 3;
    play.c.watch_children = how & 0x40;
    while (in.size > 0) {
        attempt_fuzz_take_event(&in, &h);
        attempt_fuzz_give(&h);
    }
    CHECK_STR(promises_end(), NULL);
}
