/* The machine of a member, in exchanges: what it hears, and then what it asks for and tells.
 * tests/explore/members has every interleaving of two. */
#include "recipes/member.h"
#include "runner.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(member);

/* What it hears, as the rows say it. */
enum word {
    /* events: */
    BEGIN_,
    UPDATE_,
    LEAVE_,
    STOP_,
    REPLACED_,
    STANDING_,
    TIMER_,
    FIRED_,
    /* answers to what was asked last, or to the set: */
    CREATED_,
    EXISTS_,
    READ_,
    NO_NODE_,
    SET_,
    OUTDATED_,
    DELETED_,
    UNKNOWN_,
    PASSED_,
    REFUSED_
};

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .word = name##_, .valid = true, ##__VA_ARGS__                                              \
    }
/* With the deadline behind. */
#define LAPSED(name, ...)                                                                          \
    {                                                                                              \
        .word = name##_, ##__VA_ARGS__                                                             \
    }

enum { STEPS_MAX = 14 };

struct heard {
    enum word word;
    int64_t now; /* ms */
    bool valid, suspect, same, own, gone, of_set;
    uint64_t czxid;
    int32_t version;
    int64_t late; /* it may be done until then, ms */
};

struct exchange_row {
    const char *what;
    struct {
        struct heard heard;
        const char *acts;
    } steps[STEPS_MAX];
};

static const struct machine_action *last_asked, *last_set;
static struct machine_action kept[2];

static void put_told(GString *text, const struct machine_action *a)
{
    static const char *const words[] = {
        "out:deadline", "out:session", "out:deleted", "out:left",  "joined",
        "suspect",      "proved",      "busy",        "",          "failed",
        "written",      "unwritten",   "orphan",      "unsettled", "over"};

    g_string_append_printf(text, "%s", words[a->verdict]);
    if (a->verdict == MEMBER_TELL_JOINED || a->verdict == MEMBER_TELL_BUSY)
        g_string_append_printf(text, ":%d", (int)a->czxid);
}

static void put_request(GString *text, const struct machine_action *a)
{
    const bool sets = a->verb == STORE_SET && a->node == MEMBER_NODE;

    if (a->verb == STORE_GET)
        g_string_append(text, a->watch ? "read" : "read-once");
    else if (sets)
        g_string_append_printf(text, "set:%d", a->version);
    else if (a->verb == STORE_SET)
        g_string_append(text, a->version == INT32_MAX ? "pass" : "pass?");
    else
        g_string_append(text, a->verb == STORE_CREATE ? "create" : "delete");
    CHECK(a->once == (sets || a->verb == STORE_DELETE));
    CHECK_INT(a->slot, sets ? MEMBER_SLOT_SET : MEMBER_SLOT);
    CHECK(a->mode == (a->verb == STORE_CREATE ? STORE_EPHEMERAL : 0));
    kept[sets] = *a;
    last_asked = &kept[sets];
    last_set = sets ? &kept[1] : last_set;
}

static void put(GString *text, const struct machine_action *a)
{
    if (a->kind == MACHINE_ACT_NAME)
        return;
    if (text->len)
        g_string_append_c(text, ' ');
    switch (a->kind) {
    case MACHINE_ACT_TELL:
        put_told(text, a);
        break;
    case MACHINE_ACT_REQUEST:
        put_request(text, a);
        break;
    case MACHINE_ACT_ARM:
        if (CHECK_INT(a->at % 1000000, 0))
            g_string_append_printf(text, "arm:%d", (int)(a->at / 1000000));
        break;
    case MACHINE_ACT_DISARM:
        g_string_append(text, "disarm");
        break;
    case MACHINE_ACT_FORGET:
        g_string_append(text, a->slot == MEMBER_SLOT ? "forget" : "forget?");
        break;
    case MACHINE_ACT_UNWATCH:
        g_string_append(text, a->deleting ? "ignore" : "unwatch");
        break;
    default:
        g_string_append(text, "end");
        break;
    }
}

static struct machine_event to_event(const struct heard *h)
{
    static const unsigned kinds[] = {
        [BEGIN_] = MACHINE_EV_BEGIN,      [UPDATE_] = MEMBER_EV_UPDATE,
        [LEAVE_] = MEMBER_EV_LEAVE,       [STOP_] = MACHINE_EV_OVER,
        [REPLACED_] = MACHINE_EV_SESSION, [STANDING_] = MEMBER_EV_STANDING,
        [TIMER_] = MACHINE_EV_TIMER,      [FIRED_] = MACHINE_EV_FIRED};
    static const enum store_rc codes[] = {
        [EXISTS_] = STORE_EXISTS,   [NO_NODE_] = STORE_NONODE, [OUTDATED_] = STORE_BADVERSION,
        [UNKNOWN_] = STORE_UNKNOWN, [PASSED_] = STORE_BAD,     [REFUSED_] = STORE_NOAUTH};
    const struct machine_action *asked = h->of_set ? last_set : last_asked;

    if (h->word < CREATED_)
        return (struct machine_event){.kind = kinds[h->word], .gone = h->gone};
    return (struct machine_event){.kind = MACHINE_EV_ANSWER,
                                  .rc = h->word == READ_ || h->word == SET_ ||
                                                h->word == DELETED_ || h->word == CREATED_
                                            ? STORE_OK
                                            : codes[h->word],
                                  .verb = asked ? asked->verb : STORE_GET,
                                  .slot = asked ? asked->slot : 0,
                                  .own = h->own,
                                  .connection = 3,
                                  .czxid = h->czxid,
                                  .version = h->version,
                                  .late_until = h->late * 1000000};
}

/* Each refusal is told, before anything else. */
static bool is_denied(const struct machine_action *first, uint32_t count)
{
    return count > 0 && first->kind == MACHINE_ACT_TELL && first->verdict == MEMBER_TELL_REFUSED &&
           first->rc == STORE_NOAUTH;
}

static void play(const struct exchange_row *x)
{
    struct member m = {.state = MEMBER_OUT};

    last_asked = last_set = NULL;
    for (int k = 0; k < STEPS_MAX && x->steps[k].acts; k++) {
        const struct heard *h = &x->steps[k].heard;
        const struct machine_event ev = to_event(h);
        const struct member_moment moment = {h->now * 1000000, h->valid, h->suspect, h->same};
        struct machine_actions actions = {.count = 0};
        GString *text = g_string_new(NULL);
        member_step(&m, &ev, &moment, &actions);
        const bool denied = is_denied(&actions.list[0], actions.count);
        CHECK_INT(denied, h->word == REFUSED_);
        for (uint32_t i = denied; i < actions.count; i++)
            put(text, &actions.list[i]);
        g_string_append_printf(text, "%s= %s", text->len ? " " : "", member_state_name(m.state));
        if (!CHECK_STR(text->str, x->steps[k].acts))
            runner_fail(__FILE__, __LINE__, "%s, step %d", x->what, k + 1);
        g_string_free(text, TRUE);
    }
}

static void play_all(const struct exchange_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}

#define BEGIN                                                                                      \
    {                                                                                              \
        EV(BEGIN), "create = creating"                                                             \
    }
#define MADE                                                                                       \
    {                                                                                              \
        EV(CREATED, .czxid = 5), "written read joined:5 = in"                                      \
    }
#define SEEN                                                                                       \
    {                                                                                              \
        EV(READ, .own = true, .czxid = 5, .same = true), "= in"                                    \
    }
#define AS_BEFORE(state)                                                                           \
    {EV(STANDING), "= " state}, {EV(TIMER), "= " state},                                           \
    {                                                                                              \
        EV(BEGIN), "= " state                                                                      \
    }
#define JOINED BEGIN, MADE, SEEN
/* Nothing can stand: whoever may not see that is done. */
#define LEFT_UNSEEN                                                                                \
    {EV(LEAVE), "= creating"}, {EV(REFUSED), "read-once = reading"},                               \
    {                                                                                              \
        EV(REFUSED), "end over = over"                                                             \
    }
#define WAITING                                                                                    \
    EXISTS,                                                                                        \
    {                                                                                              \
        EV(READ, .czxid = 3), "busy:3 = waiting"                                                   \
    }

#define LEAVES                                                                                     \
    JOINED,                                                                                        \
    {                                                                                              \
        EV(LEAVE), "out:left ignore delete = leaving"                                              \
    }
/* And nobody knows whether the node is gone; what comes behind the quorum's refusal will tell. */
#define PASSES                                                                                     \
    LEAVES, {EV(UNKNOWN), "pass = passing"},                                                       \
    {                                                                                              \
        EV(PASSED), "read-once = settling"                                                         \
    }
#define UPDATES                                                                                    \
    JOINED,                                                                                        \
    {                                                                                              \
        EV(UPDATE), "set:0 = in"                                                                   \
    }
#define CHANGED                                                                                    \
    JOINED,                                                                                        \
    {                                                                                              \
        EV(FIRED), "read = in"                                                                     \
    }
/* There is a node already. */
#define EXISTS                                                                                     \
    BEGIN,                                                                                         \
    {                                                                                              \
        EV(EXISTS), "read = reading"                                                               \
    }
/* Nobody may see whose it is. */
#define UNSEEN                                                                                     \
    EXISTS,                                                                                        \
    {                                                                                              \
        EV(REFUSED), "arm:1000 failed = backed off"                                                \
    }
/* Before its node is made. */
#define LEAVES_AT_ONCE                                                                             \
    BEGIN,                                                                                         \
    {                                                                                              \
        EV(LEAVE), "= creating"                                                                    \
    }
/* It is in, and may not read its node. */
#define UNWATCHED                                                                                  \
    BEGIN, MADE,                                                                                   \
    {                                                                                              \
        EV(REFUSED), "arm:30000 = in"                                                              \
    }

TEST_CASE(joining)
{
    static const struct exchange_row rows[] = {
        {"made, and the answer was lost",
         {EXISTS, {EV(READ, .own = true, .czxid = 5, .same = true), "written joined:5 = in"}}},
        {"with data that are older now",
         {BEGIN,
          {EV(UPDATE), "= creating"},
          {EV(EXISTS), "read = reading"},
          {EV(READ, .own = true, .czxid = 5, .version = 7), "joined:5 set:7 = in"},
          {EV(SET), "written = in"}}},
        {"when nothing is answered yet",
         {BEGIN, AS_BEFORE("creating"), {EV(EXISTS), "read = reading"}, AS_BEFORE("reading")}},
        {"gone when it was read", {EXISTS, {EV(NO_NODE), "create = creating"}}},
        {"not proved yet",
         {BEGIN,
          {LAPSED(CREATED, .czxid = 5), "written read = in"},
          {EV(STANDING), "joined:5 = in"}}},
        {"gone while it was read", {BEGIN, MADE, {EV(NO_NODE), "out:deleted create = creating"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(staying)
{
    static const struct exchange_row rows[] = {
        {"in doubt",
         {JOINED,
          {EV(STANDING, .suspect = true), "suspect = in"},
          {EV(STANDING, .suspect = true), "= in"},
          {EV(STANDING), "proved = in"}}},
        {"past its deadline",
         {JOINED,
          {EV(STANDING, .suspect = true), "suspect = in"},
          {LAPSED(STANDING, .suspect = true), "out:deadline = in"},
          {LAPSED(STANDING, .suspect = true), "= in"},
          {EV(STANDING), "joined:5 = in"}}},
        {"past its deadline, and in when it has been looked at",
         {JOINED,
          {LAPSED(FIRED), "read out:deadline = in"},
          {EV(STANDING), "= in"},
          {EV(READ, .own = true, .czxid = 5, .same = true), "joined:5 = in"}}},
        {"past its deadline, without a watch on a node that was gone",
         {UNWATCHED,
          {LAPSED(STANDING), "out:deadline read = in"},
          {LAPSED(STANDING), "= in"},
          {EV(STANDING), "= in"},
          {EV(NO_NODE), "create = creating"}}},
        {"past its deadline, without a watch on a node that stands",
         {UNWATCHED,
          {LAPSED(STANDING), "out:deadline read = in"},
          {EV(STANDING), "= in"},
          {EV(REFUSED), "arm:30000 joined:5 = in"}}},
        {"in another session",
         {JOINED,
          {LAPSED(REPLACED), "out:session create = creating"},
          {EV(CREATED, .czxid = 9), "written read joined:9 = in"}}},
        {"past its deadline, then in another session",
         {JOINED,
          {LAPSED(STANDING), "out:deadline = in"},
          {LAPSED(REPLACED), "create = creating"}}},
        {"deleted", {JOINED, {EV(FIRED, .gone = true), "out:deleted create = creating"}}},
        {"changed by somebody else, and again",
         {CHANGED,
          {EV(READ, .own = true, .czxid = 5, .version = 3), "= in"},
          {EV(UPDATE), "set:3 = in"}}},
        {"deleted, and another was faster",
         {CHANGED, {EV(READ, .czxid = 8), "out:deleted busy:8 = waiting"}}},
        {"deleted, and made by a create that came late",
         {CHANGED,
          {EV(READ, .own = true, .czxid = 8, .same = true), "out:deleted written joined:8 = in"}}},
        {"not to be read",
         {CHANGED,
          {EV(REFUSED), "arm:30000 = in"},
          {EV(TIMER), "read = in"},
          {EV(REFUSED), "arm:30000 = in"},
          {EV(TIMER), "read = in"},
          {EV(NO_NODE), "out:deleted create = creating"},
          {EV(TIMER), "= creating"}}},
        {"not to be read, and read since",
         {CHANGED,
          {EV(REFUSED), "arm:30000 = in"},
          {EV(FIRED), "read = in"},
          {EV(TIMER), "= in"},
          {EV(READ, .own = true, .czxid = 5), "= in"}}},
        {"closed",
         {JOINED,
          {EV(STOP), "out:left end over = over"},
          {EV(STOP), "= over"},
          {EV(REPLACED), "= over"},
          {EV(BEGIN), "= over"}}},
        {"before it began", {{EV(REPLACED), "= out"}, {EV(TIMER), "= out"}}},
        {"a timer too late", {JOINED, {EV(TIMER), "= in"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(data)
{
    static const struct exchange_row rows[] = {
        {"one after the other",
         {UPDATES,
          {EV(UPDATE), "= in"},
          {EV(SET), "written set:1 = in"},
          {EV(SET), "written = in"}}},
        {"the own change is heard first",
         {UPDATES,
          {EV(FIRED), "read = in"},
          {EV(READ, .own = true, .czxid = 5, .version = 1, .same = true), "= in"}}},
        {"the answer was lost",
         {UPDATES,
          {EV(OUTDATED), "read = in"},
          {EV(READ, .own = true, .czxid = 5, .version = 1, .same = true), "written = in"}}},
        {"somebody else had written",
         {UPDATES,
          {EV(OUTDATED), "read = in"},
          {EV(READ, .own = true, .czxid = 5, .version = 4), "set:4 = in"}}},
        {"refused",
         {UPDATES,
          {EV(REFUSED), "unwritten = in"},
          {EV(STANDING), "= in"},
          {EV(UPDATE), "set:0 = in"}}},
        {"refused, and another has the same",
         {UPDATES,
          {EV(REFUSED), "unwritten = in"},
          {EV(FIRED), "read = in"},
          {EV(READ, .czxid = 8, .same = true), "out:deleted busy:8 = waiting"}}},
        {"the node was gone",
         {UPDATES,
          {EV(NO_NODE), "out:deleted create = creating"},
          {EV(CREATED, .czxid = 6), "written read joined:6 = in"}}},
        {"before it is made",
         {BEGIN,
          {EV(UPDATE), "= creating"},
          {EV(CREATED, .czxid = 5), "written read joined:5 = in"},
          {EV(READ, .own = true, .czxid = 5), "set:0 = in"},
          {EV(SET), "written = in"}}},
        {"before its own node was read",
         {BEGIN, MADE, {EV(UPDATE), "= in"}, {EV(REFUSED), "arm:30000 set:0 = in"}}},
        {"while its node is read",
         {CHANGED,
          {EV(UPDATE), "= in"},
          {EV(READ, .own = true, .czxid = 5, .version = 3), "set:3 = in"}}},
        {"and its node is read meanwhile",
         {UPDATES,
          {EV(FIRED), "read = in"},
          {EV(READ, .own = true, .czxid = 5, .version = 7), "= in"},
          {EV(SET, .of_set = true), "written = in"},
          {EV(UPDATE), "set:1 = in"}}},
        {"and its node is not to be read meanwhile",
         {UPDATES,
          {EV(FIRED), "read = in"},
          {EV(REFUSED), "arm:30000 = in"},
          {EV(SET, .of_set = true), "written = in"}}},
        {"without an answer",
         {UPDATES, {EV(UNKNOWN), "read = in"}, {EV(READ, .own = true, .czxid = 5), "set:0 = in"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(of_another)
{
    static const struct exchange_row rows[] = {
        {"while it is waited for", {WAITING, AS_BEFORE("waiting")}},
        {"that leaves", {WAITING, {EV(FIRED, .gone = true), "create = creating"}}},
        {"that leaves, and another is faster",
         {WAITING,
          {EV(FIRED, .gone = true), "create = creating"},
          {EV(EXISTS), "read = reading"},
          {EV(READ, .czxid = 4), "busy:4 = waiting"}}},
        {"that leaves, and it is in then",
         {WAITING, {EV(FIRED, .gone = true), "create = creating"}, MADE, SEEN}},
        {"that has it again when the servers' data have gone back",
         {EXISTS,
          {EV(READ, .czxid = 1), "busy:1 = waiting"},
          {EV(FIRED, .gone = true), "create = creating"},
          MADE,
          {EV(FIRED, .gone = true), "out:deleted create = creating"},
          {EV(EXISTS), "read = reading"},
          {EV(READ, .czxid = 1), "busy:1 = waiting"}}},
        {"that writes",
         {WAITING,
          {EV(FIRED), "read = reading"},
          {EV(READ, .czxid = 3), "= waiting"},
          {EV(FIRED), "read = reading"},
          {EV(READ, .czxid = 4), "busy:4 = waiting"}}},
        {"that has gone when it is read again",
         {WAITING, {EV(FIRED), "read = reading"}, {EV(NO_NODE), "create = creating"}}},
        {"while its own data change", {WAITING, {EV(UPDATE), "= waiting"}}},
        {"and a session that ends", {WAITING, {EV(REPLACED), "create = creating"}}},
        {"and then none", {WAITING, {EV(LEAVE), "unwatch end over = over"}, {EV(LEAVE), "= over"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(leaving)
{
    static const struct exchange_row rows[] = {
        {"of a member", {LEAVES, {EV(LEAVE), "= leaving"}, {EV(DELETED), "end over = over"}}},
        {"before it began", {{EV(LEAVE), "end over = over"}}},
        {"while it is made",
         {LEAVES_AT_ONCE,
          {EV(CREATED, .czxid = 5), "ignore delete = leaving"},
          {EV(NO_NODE), "end over = over"}}},
        {"while it is made, and the answer was lost",
         {LEAVES_AT_ONCE,
          {EV(EXISTS), "read-once = reading"},
          {EV(READ, .own = true, .czxid = 5), "ignore delete = leaving"}}},
        {"where another has it",
         {LEAVES_AT_ONCE,
          {EV(EXISTS), "read-once = reading"},
          {EV(READ, .czxid = 5), "end over = over"}}},
        {"where it is refused",
         {LEAVES_AT_ONCE, {EV(REFUSED), "read-once = reading"}, {EV(REFUSED), "end over = over"}}},
        {"where it is made, and nobody may see whose it is",
         {UNSEEN,
          {EV(TIMER), "disarm create = creating"},
          {EV(LEAVE), "= creating"},
          {EV(REFUSED), "read-once = reading"},
          {EV(REFUSED), "arm:2000 orphan = reading"},
          {EV(STANDING), "= reading"},
          {EV(TIMER), "read-once = reading"},
          {EV(READ, .own = true, .czxid = 5), "ignore delete = leaving"}}},
        {"where it may have stood, was made, and deleted",
         {UNSEEN,
          {EV(TIMER), "disarm create = creating"},
          MADE,
          SEEN,
          {EV(FIRED, .gone = true), "out:deleted create = creating"},
          LEFT_UNSEEN}},
        {"where it was another's, which is gone",
         {WAITING, {EV(FIRED, .gone = true), "create = creating"}, LEFT_UNSEEN}},
        {"where it was gone when it was read",
         {EXISTS, {EV(NO_NODE), "create = creating"}, LEFT_UNSEEN}},
        {"while it is read",
         {EXISTS,
          {EV(LEAVE), "= reading"},
          {EV(READ, .own = true, .czxid = 5), "ignore delete = leaving"}}},
        {"where it stood in another session, and nobody may see whose it is",
         {UNSEEN, {EV(REPLACED), "disarm create = creating"}, LEFT_UNSEEN}},
        {"where it is refused, and stands",
         {LEAVES_AT_ONCE,
          {EV(REFUSED), "read-once = reading"},
          {EV(READ, .own = true, .czxid = 5), "ignore delete = leaving"}}},
        {"and the answer is lost",
         {PASSES,
          {EV(READ, .own = true, .czxid = 5), "ignore delete = leaving"},
          {EV(UNKNOWN), "pass = passing"},
          {EV(PASSED), "read-once = settling"},
          {EV(NO_NODE), "end over = over"}}},
        {"and another has it by then",
         {LEAVES,
          {EV(UNKNOWN), "pass = passing"},
          AS_BEFORE("passing"),
          {EV(PASSED), "read-once = settling"},
          AS_BEFORE("settling"),
          {EV(READ, .czxid = 6), "end over = over"}}},
        {"and a late create has made another",
         {PASSES, {EV(READ, .own = true, .czxid = 6), "ignore delete = leaving"}}},
        {"and nobody may see whose it is",
         {PASSES,
          {EV(REFUSED), "arm:1000 failed orphan = settling"},
          {EV(TIMER), "read-once = settling"},
          {EV(NO_NODE), "end over = over"}}},
        {"and may not",
         {LEAVES,
          {EV(REFUSED), "arm:1000 failed orphan = leaving"},
          {EV(LEAVE), "= leaving"},
          {EV(TIMER), "read-once = settling"},
          {EV(READ, .own = true, .czxid = 5), "ignore delete = leaving"},
          {EV(REFUSED), "arm:2000 orphan = leaving"},
          {EV(TIMER), "read-once = settling"},
          {EV(READ, .czxid = 6), "end over = over"}}},
        {"and may not, until its session ends",
         {LEAVES,
          {EV(REFUSED), "arm:1000 failed orphan = leaving"},
          {EV(REPLACED), "read = parting"},
          {EV(READ, .czxid = 5), "= parting"},
          {EV(FIRED), "read = parting"},
          {EV(READ, .czxid = 5), "= parting"},
          {EV(REPLACED), "read = parting"},
          {EV(TIMER), "= parting"},
          {EV(READ, .czxid = 5), "= parting"},
          {EV(FIRED, .gone = true), "end over = over"}}},
        {"and may not, until its session ends, and another has it then",
         {LEAVES,
          {EV(REFUSED), "arm:1000 failed orphan = leaving"},
          {EV(REPLACED), "read = parting"},
          {EV(READ, .czxid = 6), "end over = over"}}},
        {"with its session", {LEAVES, {EV(REPLACED), "end over = over"}}},
        {"while it is made, with its session", {LEAVES_AT_ONCE, {EV(REPLACED), "end over = over"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* Nothing of it may be done late when the next one has the id. */
#define SETTLES(until) "ignore forget arm:" #until " unsettled = settling"
TEST_CASE(settling)
{
    static const struct exchange_row rows[] = {
        {"its create",
         {BEGIN,
          {EV(CREATED, .czxid = 5, .late = 20), "written read joined:5 = in"},
          {EV(LEAVE, .now = 19), "out:left " SETTLES(20)},
          {EV(LEAVE, .now = 19), "= settling"},
          {EV(TIMER, .now = 20), "read-once = settling"},
          {EV(READ, .own = true, .czxid = 5), "ignore delete = leaving"},
          {EV(DELETED), "end over = over"}}},
        {"its create, long ago",
         {BEGIN,
          {EV(CREATED, .czxid = 5, .late = 20), "written read joined:5 = in"},
          {EV(LEAVE, .now = 20), "out:left ignore delete = leaving"}}},
        {"its create, before it was in",
         {LEAVES_AT_ONCE,
          {EV(EXISTS, .late = 20), "read-once = reading"},
          {EV(READ, .now = 20, .own = true, .czxid = 5), SETTLES(20)},
          {EV(REPLACED), "read = parting"},
          {EV(NO_NODE), "end over = over"}}},
        {"its create, where the server has refused another",
         {LEAVES_AT_ONCE,
          {EV(REFUSED, .late = 20), "read-once = reading"},
          {EV(NO_NODE), "forget arm:20 unsettled = reading"},
          {EV(TIMER, .now = 20), "read-once = reading"},
          {EV(NO_NODE, .now = 20), "end over = over"}}},
        {"its create, where another has the id",
         {BEGIN,
          {EV(EXISTS, .late = 20), "read = reading"},
          {EV(READ, .czxid = 3), "busy:3 = waiting"},
          {EV(LEAVE), "unwatch forget arm:20 unsettled = reading"},
          {EV(TIMER, .now = 20), "read-once = reading"},
          {EV(READ, .czxid = 3), "end over = over"}}},
        {"its create, and then nobody may see whose it is",
         {BEGIN,
          {EV(EXISTS, .late = 20), "read = reading"},
          {EV(READ, .czxid = 3), "busy:3 = waiting"},
          {EV(LEAVE), "unwatch forget arm:20 unsettled = reading"},
          {EV(TIMER, .now = 20), "read-once = reading"},
          {EV(REFUSED, .now = 20), "arm:1020 failed orphan = reading"},
          {EV(TIMER, .now = 1020), "read-once = reading"},
          {EV(READ, .now = 1020, .own = true, .czxid = 7), "ignore delete = leaving"},
          {EV(DELETED), "end over = over"}}},
        {"its data",
         {UPDATES, {EV(UNKNOWN, .late = 20), "read = in"}, {EV(LEAVE), "out:left " SETTLES(20)}}},
        {"its data, of which it hears later",
         {UPDATES,
          {EV(LEAVE), "out:left ignore delete = leaving"},
          {EV(UNKNOWN), "pass = passing"},
          {EV(PASSED), "read-once = settling"},
          {EV(READ, .own = true, .czxid = 5), "ignore forget unsettled = settling"},
          {EV(UNKNOWN, .of_set = true, .late = 20), "arm:20 = settling"}}},
        {"its delete",
         {LEAVES,
          {EV(UNKNOWN, .late = 20), "pass = passing"},
          {EV(PASSED, .late = 90), "read-once = settling"},
          {EV(READ, .now = 20, .own = true, .czxid = 5), SETTLES(20)},
          {EV(TIMER, .now = 20), "read-once = settling"},
          {EV(NO_NODE, .now = 20), "end over = over"}}},
        {"its delete, which was done",
         {LEAVES,
          {EV(UNKNOWN, .late = 20), "pass = passing"},
          {EV(PASSED), "read-once = settling"},
          {EV(NO_NODE), "end over = over"}}},
        {"nothing in the next session",
         {BEGIN,
          {EV(CREATED, .czxid = 5, .late = 20), "written read joined:5 = in"},
          {EV(REPLACED), "out:session create = creating"},
          {EV(CREATED, .czxid = 9), "written read joined:9 = in"},
          {EV(LEAVE), "out:left ignore delete = leaving"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(refused)
{
    static const struct exchange_row rows[] = {
        {"again and again",
         {BEGIN,
          {EV(REFUSED), "arm:1000 failed = backed off"},
          {EV(STANDING), "= backed off"},
          {EV(TIMER), "disarm create = creating"},
          {EV(REFUSED), "arm:2000 = backed off"},
          {EV(TIMER), "disarm create = creating"},
          MADE,
          SEEN,
          {EV(REPLACED), "out:session create = creating"},
          {EV(REFUSED), "arm:1000 failed = backed off"},
          {EV(LEAVE), "disarm read-once = reading"},
          {EV(NO_NODE), "end over = over"}}},
        {"to read another's", {UNSEEN, {EV(REPLACED), "disarm create = creating"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* After 2^32 updates they are not taken for none; those before it begins are none the less. */
TEST_CASE(generations)
{
    const struct machine_event update = {.kind = MEMBER_EV_UPDATE},
                               begin = {.kind = MACHINE_EV_BEGIN};
    const struct member_moment moment = {.valid = true};
    struct member m = {.wanted = UINT32_MAX};
    struct machine_actions actions = {.count = 0};

    member_step(&m, &update, &moment, &actions);
    CHECK_INT(m.wanted, 1);
    member_step(&m, &update, &moment, &actions);
    member_step(&m, &begin, &moment, &actions);
    CHECK_INT(m.wanted, 2);
    CHECK_INT(m.sent, 2);
}

/* What the invariant is asserted for. */
TEST_CASE(invariants)
{
    static const struct member wrong[] = {
        {.state = MEMBER_CREATING, .told_in = true},
        {.state = MEMBER_WAITING, .czxid = 1, .checks = true},
        {.state = MEMBER_IN, .czxid = 2, .told_in = true, .told_czxid = 1},
        {.state = MEMBER_IN, .czxid = 2, .told_suspect = true},
        {.state = MEMBER_IN},
        {.state = MEMBER_SETTLING},
        {.state = MEMBER_WAITING},
        {.state = MEMBER_CREATING, .czxid = 1},
        {.state = MEMBER_IN, .czxid = 1, .leaves = true},
        {.state = MEMBER_CREATING, .later = true},
        {.state = MEMBER_WAITING, .czxid = 1, .later = true},
        {.state = MEMBER_BACKED_OFF, .back_off_ms = 1000},
        {.state = MEMBER_BACKED_OFF, .told_failed = true},
    };
    static const struct member right[] = {
        {.state = MEMBER_OUT},
        {.state = MEMBER_CREATING, .leaves = true},
        {.state = MEMBER_READING, .leaves = true},
        {.state = MEMBER_IN, .czxid = 1, .told_in = true, .told_czxid = 1, .told_suspect = true},
        {.state = MEMBER_WAITING, .czxid = 1},
        {.state = MEMBER_IN, .czxid = 1, .later = true},
        {.state = MEMBER_READING, .later = true},
        {.state = MEMBER_LEAVING, .czxid = 1, .later = true},
        {.state = MEMBER_PASSING, .czxid = 1, .later = true},
        {.state = MEMBER_SETTLING, .czxid = 1, .later = true},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
        if (!CHECK(!member_invariant(&wrong[i])))
            runner_fail(__FILE__, __LINE__, "wrong %zu", i);
    for (size_t i = 0; i < G_N_ELEMENTS(right); i++)
        if (!CHECK(member_invariant(&right[i])))
            runner_fail(__FILE__, __LINE__, "right %zu", i);
    CHECK(member_may_move(MEMBER_IN, MEMBER_LEAVING));
    CHECK(!member_may_move(MEMBER_OVER, MEMBER_CREATING));
    CHECK(member_may_move(MEMBER_READING, MEMBER_WAITING));
    CHECK(!member_may_move(MEMBER_PASSING, MEMBER_LEAVING));
    CHECK(!member_may_move(MEMBER_WAITING, MEMBER_IN));
    CHECK(!member_may_move(MEMBER_WAITING, MEMBER_LEAVING));
    CHECK_STR(member_state_name(MEMBER_STATES), "?");
}
