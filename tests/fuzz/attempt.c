/* One contender and any events, under the promises of the random walks. The input: whether it only
 * tries, is strict and what is a long queue, then events: a byte that says which kind, one for the
 * answer, and what the kind needs. Plausible ones carry what the contender waits for; nonsense ones
 * anything. */
#include "targets.h"

#include "input.h"
#include "recipes/rule.h"
#include "runner.h"
#include "unit/attempt_promises.h"

static struct child children[PLAY_CHILDREN];

static int32_t take_number(struct input *in)
{
    int8_t small = (int8_t)input_byte(in);

    return small == INT8_MAX ? INT32_MAX : small;
}

static void take_children(struct input *in, struct event *ev)
{
    ev->children = children;
    ev->count = input_byte(in) % (PLAY_CHILDREN + 1);
    for (uint32_t i = 0; i < ev->count; i++) {
        unsigned flags = input_byte(in);
        const enum rule rule = flags & 1 ? RULE_NONE : flags & 16 ? RULE_LATCH : RULE_LOCK;
        children[i] = (struct child){
            .id = i,
            .kind = rule_kind(rule),
            .rule = rule,
            .own = (flags & 2) != 0,
            .old = (flags & 4) != 0,
            .retains = (flags & 32) != 0,
            .number = flags & 8 ? play.c.number : take_number(in),
        };
    }
}

static void take_event(struct input *in, struct event *ev)
{
    unsigned what = input_byte(in), answer = input_byte(in);
    bool nonsense = what & 0x80;

    *ev = (struct event){
        .kind = nonsense ? (enum event_kind)(what % (EV_END + 1)) : promises_likely(what),
        .answer = (enum answer)(answer % 16 <= ANSWER_BAD ? answer % 16 : ANSWER_OK),
        .tag = play.c.tag - (nonsense && what & 0x40),
        .in_time = !(answer & 0x10),
        .gone = (answer & 0x20) != 0,
        .watched = (answer & 0x80) != 0,
        .error = PLAY_ERROR,
        .ephemeral_owner = PLAY_SESSION,
        .session = PLAY_SESSION + ((answer & 0x40) != 0),
        .connection = (answer & 0x80) != 0,
    };
    if (ev->kind == EV_CREATED || ev->kind == EV_READ) {
        ev->number = take_number(in);
        ev->czxid = 1 + (uint64_t)input_byte(in);
    } else if (ev->kind == EV_LISTED) {
        take_children(in, ev);
    } else if (ev->kind == EV_HINT_READ) {
        ev->count = input_byte(in);
    }
    if (ev->kind == EV_WATCHED)
        ev->ephemeral_owner -= !(what & 0x20);
    if (ev->kind == EV_LISTED || ev->kind == EV_HINT_READ) {
        ev->hint = (enum head_hint)(input_byte(in) % (HINT_NAMED + 1));
        ev->version = input_byte(in) % 3;
    }
}

static void give(const struct event *ev)
{
    const char *broken = promises_give(ev);

    if (broken)
        runner_fail(__FILE__, __LINE__, "%s: event %d, now %s: %s", broken, (int)ev->kind,
                    attempt_state_name(play.c.state), play_actions());
}

void fuzz_attempt(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct event ev;

    unsigned how = input_byte(&in);
    play_start(how & 1);
    play.c.strict = how & 2;
    play.c.long_queue = how >> 2 & 3;
    while (in.size > 0) {
        take_event(&in, &ev);
        give(&ev);
    }
    CHECK_STR(promises_end(), NULL);
}
