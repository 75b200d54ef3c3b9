#include "attempt_play.h"

#include "rule.h"
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS_NS INT64_C(1000000)

struct play play;

/* ---- the words ---- */

#define WORDS_ANSWER(word_, asks_, verb_, node_, slot_)                                            \
    {                                                                                              \
        .word = (word_), .asks = (asks_), .kind = MACHINE_EV_ANSWER, .verb = STORE_##verb_,        \
        .node = ATTEMPT_##node_, .slot = ATTEMPT_SLOT_##slot_                                      \
    }

static const struct {
    const char *word, *asks;
    unsigned kind;
    enum store_kind verb;
    uint32_t node;
    uint8_t slot;
} words_table[PLAY_ROWS] = {
    [PLAY_CREATED] = WORDS_ANSWER("created", "create", CREATE, NEW, MAIN),
    [PLAY_ABOVE] = WORDS_ANSWER("above", "above", CREATE, PARENT, MAIN),
    [PLAY_PARENTS] = WORDS_ANSWER("parents", "parents", CREATE, DIRECTORY, MAIN),
    [PLAY_PASSED] = WORDS_ANSWER("passed", "barrier", SET, QUORUM, MAIN),
    [PLAY_LISTED] = WORDS_ANSWER("listed", "list", LIST, CHILDREN, MAIN),
    [PLAY_LOOKED] = WORDS_ANSWER("listed", "list", LIST, CHILDREN, OTHERS),
    [PLAY_HINT] = WORDS_ANSWER("hint", "read-hint", GET, HINT, MAIN),
    [PLAY_READ] = WORDS_ANSWER("read", "prove", GET, OWN, MAIN),
    [PLAY_WATCHED] = WORDS_ANSWER("watched", "rewatch", GET, PREDECESSOR, MAIN),
    [PLAY_LIMITED] = WORDS_ANSWER("limited", "limit", GET, LIMIT, MAIN),
    [PLAY_LIMITED_LOOK] = WORDS_ANSWER("limited", "limit", GET, LIMIT, OTHERS),
    [PLAY_WRITTEN] = WORDS_ANSWER("written", "write-limit", SET, LIMIT, MAIN),
    [PLAY_WRITTEN_LOOK] = WORDS_ANSWER("written", "write-limit", SET, LIMIT, OTHERS),
    [PLAY_DIRECTORY] = WORDS_ANSWER("directory", "read-directory", GET, DIRECTORY, MAIN),
    [PLAY_RESET] = WORDS_ANSWER("reset", "reset", DELETE, DIRECTORY, MAIN),
    [PLAY_TOUCHED] = WORDS_ANSWER("touched", "touch", SET, OWN, TOUCH),
    [PLAY_REREAD] = WORDS_ANSWER("reread", "reread", GET, OWN, TOUCH),
    [PLAY_ENTER] = {"enter", .kind = MACHINE_EV_BEGIN},
    [PLAY_PRED] = {"pred", .kind = MACHINE_EV_FIRED, .node = ATTEMPT_PREDECESSOR},
    [PLAY_OWN] = {"own", .kind = MACHINE_EV_FIRED, .node = ATTEMPT_OWN},
    [PLAY_LIMIT_CHANGED] = {"limit-changed", .kind = MACHINE_EV_FIRED, .node = ATTEMPT_LIMIT},
    [PLAY_CHILDREN_FIRED] = {"children", .kind = MACHINE_EV_FIRED, .node = ATTEMPT_CHILDREN},
    [PLAY_TIMER] = {"timer", .kind = MACHINE_EV_TIMER},
    [PLAY_EXTENDED] = {"extended", .kind = ATTEMPT_EV_DEADLINE_MOVED},
    [PLAY_DEADLINE_PASSED] = {"too-late", .kind = ATTEMPT_EV_DEADLINE_PASSED},
    [PLAY_LOOK] = {"look", .kind = ATTEMPT_EV_ASK_OTHERS},
    [PLAY_HEED] = {"heed", .kind = ATTEMPT_EV_WATCH_OWN},
    [PLAY_RELEASE] = {"release", .kind = ATTEMPT_EV_RELEASE},
    [PLAY_NODE_GONE] = {"node-gone", .kind = ATTEMPT_EV_NODE_GONE},
    [PLAY_DOUBT] = {"doubt", .kind = ATTEMPT_EV_DOUBT},
    [PLAY_ABORT] = {"abort", .kind = MACHINE_EV_STOP},
    [PLAY_REPLACED] = {"replaced", .kind = MACHINE_EV_SESSION},
    [PLAY_END] = {"end", .kind = MACHINE_EV_OVER},
};

static const char *const words_answers[] = {
    [STORE_OK] = "ok",
    [STORE_NONODE] = "nonode",
    [STORE_EXISTS] = "exists",
    [STORE_BADVERSION] = "badversion",
    [STORE_NOAUTH] = "refused",
    [STORE_NOCHILDREN] = "nochildren",
    [STORE_NOTEMPTY] = "notempty",
    [STORE_BAD] = "bad",
    [STORE_UNIMPLEMENTED] = "unimplemented",
    [STORE_UNKNOWN] = "unknown",
    [STORE_GONE] = "gone-with-session",
    [STORE_LIMIT] = "limit",
};

static const char *const words_hints[] = {
    [HINT_NONE] = "empty",  [HINT_UNREAD] = "unread", [HINT_FOREIGN] = "foreign",
    [HINT_OTHER] = "other", [HINT_NAMED] = "named",
};

static const char *const words_others[] = {
    [OTHERS_UNKNOWN] = "unknown",
    [OTHERS_NONE] = "none",
    [OTHERS_WAIT] = "wait",
};

static const char *const words_losses[] = {
    [LOSS_NONE] = "none",       [LOSS_DEADLINE] = "deadline", [LOSS_EXPIRED] = "expired",
    [LOSS_DELETED] = "deleted", [LOSS_CLOSED] = "closed",
};

static const char *const words_errors[] = {
    [ATTEMPT_BUSY] = "busy",
    [ATTEMPT_REFUSED] = "refused",
    [ATTEMPT_NOCHILDREN] = "nochildren",
    [ATTEMPT_OVERFLOW] = "overflow",
    [ATTEMPT_WATCHES] = "limit",
    [ATTEMPT_PROTOCOL] = "protocol",
    [ATTEMPT_LAYOUT] = "layout",
    [ATTEMPT_UNPROVED] = "unproved",
    [ATTEMPT_PERMITS] = "permits",
    [ATTEMPT_NOLIMIT] = "no-limit",
    [ATTEMPT_ABORTED] = "aborted",
};

#define WORDS(table) (table), sizeof(table) / sizeof(*(table))

static int words_find(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] && strcmp(words[i], word) == 0)
            return (int)i;
    return -1;
}

static const char *words_get(const char *const *words, size_t count, int at)
{
    return at >= 0 && (size_t)at < count && words[at] ? words[at] : "?";
}

/* ---- events ---- */

/* Two lists and two limits have one word: that of the look is meant if it is under way. */
static enum play_row words_find_row(const char *word)
{
    enum play_row found = PLAY_ROWS;

    for (enum play_row row = 0; row < PLAY_ROWS; row++)
        if (strcmp(words_table[row].word, word) == 0 &&
            (found == PLAY_ROWS || play_is_under_way(row)))
            found = row;
    return found;
}

static enum store_rc words_usual_answer(enum play_row row)
{
    return row == PLAY_PASSED ? STORE_BADVERSION : STORE_OK;
}

static struct attempt_moment words_moment(enum play_row row)
{
    return (struct attempt_moment){
        .now = play.now,
        .in_time = true,
        .unused = row == PLAY_DIRECTORY,
        .container = true,
        .timeout_ms = PLAY_TIMEOUT_MS,
        .connection = play.connection,
        .parents = play.parents,
        .loss = row == PLAY_REPLACED ? LOSS_EXPIRED
                : row == PLAY_END    ? LOSS_CLOSED
                                     : LOSS_NONE,
        .limit = row == PLAY_DIRECTORY ? 2 : 0,
        .children = play.children,
    };
}

struct play_event play_event_of(enum play_row row)
{
    struct play_event h = {
        .row = row,
        .ev = {.kind = words_table[row].kind,
               .verb = words_table[row].verb,
               .node = words_table[row].node,
               .slot = words_table[row].slot,
               .rc = words_usual_answer(row),
               .own = row != PLAY_WATCHED,
               .length = row == PLAY_LIMITED || row == PLAY_LIMITED_LOOK,
               .mzxid = play.c.rule == RULE_LEASE ? play.c.limit_zxid : 0},
        .m = words_moment(row),
    };

    if (row < PLAY_ANSWERS)
        h.to = play.asked[row].number;
    return h;
}

static enum rule words_rule(char mark)
{
    return mark == '?'                 ? RULE_NONE
           : mark == '!'               ? RULE_LATCH
           : mark == 'r'               ? RULE_READ
           : mark == 'w'               ? RULE_WRITE
           : play.c.rule == RULE_LEASE ? RULE_LEASE
                                       : RULE_LOCK;
}

static bool words_add_child(struct play_event *h, int32_t number, char *end)
{
    REQUIRE(play.count < PLAY_CHILDREN);
    const uint32_t permits = *end == 'x' ? (uint32_t)strtol(end + 1, &end, 10) : 1;
    const enum rule rule = words_rule(*end);

    play.children[play.count] = (struct child){
        .id = (uint32_t)(200 + play.count),
        .kind = rule_kind(rule),
        .rule = rule,
        .permits = permits,
        .number = *end == '?' ? 0 : number,
        .own = *end == '*',
        .old = *end == '~',
        .retains = *end == '+',
    };
    h->ev.count = ++play.count;
    return *end == '\0' || strchr("*~?!+rw", *end);
}

static bool words_read_number(struct play_event *h, const char *word)
{
    char *end;
    const int32_t number = (int32_t)strtol(word, &end, 10);

    if (end == word)
        return false;
    switch (h->row) {
    case PLAY_LISTED:
    case PLAY_LOOKED:
        return words_add_child(h, number, end);
    case PLAY_HINT:
    case PLAY_DIRECTORY:
        h->ev.count = (size_t)number;
        break;
    case PLAY_LIMITED:
    case PLAY_LIMITED_LOOK:
        h->m.limit = number;
        break;
    case PLAY_ABOVE:
        h->ev.node = ATTEMPT_PARENT + (uint32_t)number;
        break;
    default:
        h->m.number = number;
        h->ev.czxid = 1000 + (uint64_t)number;
    }
    return *end == '\0';
}

/* The data are a hint, or none. */
static void words_set_data(struct play_event *h, enum head_hint hint)
{
    h->m.hint = hint;
    h->ev.length = hint != HINT_NONE;
}

static bool words_read_flag(struct play_event *h, const char *word)
{
    const bool yes = strcmp(word, "ours") == 0 || strcmp(word, "gone") == 0 ||
                     strcmp(word, "left") == 0 || strcmp(word, "asked") == 0;

    if (strcmp(word, "stale") == 0)
        h->to.question--;
    else if (strcmp(word, "nodeadline") == 0)
        h->m.in_time = false;
    else if (strcmp(word, "again") == 0)
        h->m.connection = ++play.connection;
    else if (strcmp(word, "down") == 0)
        h->m.connection = 0;
    else if (strcmp(word, "ours") == 0 || strcmp(word, "others") == 0)
        h->ev.own = yes;
    else if (strcmp(word, "gone") == 0 || strcmp(word, "changed") == 0)
        h->ev.gone = yes;
    else if (strcmp(word, "left") == 0)
        h->ev.watched = true;
    else if (strcmp(word, "asked") == 0)
        h->m.asked = true;
    else if (strcmp(word, "persistent") == 0)
        h->m.container = false;
    else if (strcmp(word, "used") == 0)
        h->m.unused = false;
    else if (strcmp(word, "unlimited") == 0)
        h->m.limit = 0;
    else
        return false;
    return true;
}

static bool words_read(struct play_event *h, const char *word)
{
    const int answer = words_find(WORDS(words_answers), word),
              hint = words_find(WORDS(words_hints), word);

    if (words_read_flag(h, word))
        return true;
    if (hint >= 0)
        words_set_data(h, (enum head_hint)hint);
    else if (word[0] == 'z')
        h->ev.mzxid = (uint64_t)atoi(word + 1);
    else if (word[0] == 'v')
        h->ev.version = atoi(word + 1);
    else if (answer >= 0)
        h->ev.rc = (enum store_rc)answer;
    else
        return words_read_number(h, word);
    return true;
}

/* What it is may be said behind how it is: "nodeadline listed". */
bool play_event(struct play_event *h, const char *words)
{
    enum play_row found = PLAY_ROWS;
    char copy[128], *rest = copy;

    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word; found == PLAY_ROWS && (word = strsep(&rest, " "));)
        found = words_find_row(word);
    if (found == PLAY_ROWS)
        return false;
    *h = play_event_of(found);
    play.count = found == PLAY_LISTED || found == PLAY_LOOKED ? 0 : play.count;
    snprintf(copy, sizeof(copy), "%s", words);
    rest = copy;
    for (char *word; (word = strsep(&rest, " "));)
        if (strcmp(word, words_table[found].word) != 0 && !words_read(h, word))
            return false;
    return true;
}

const char *play_awaited(void)
{
    static char text[128];
    size_t used = 0;

    text[0] = '\0';
    for (enum play_row row = 0; row < PLAY_ANSWERS; row++)
        if (play_awaits(row))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
                                     words_table[row].word);
    return text;
}

/* ---- actions ---- */

static enum play_row play_row_of(const struct machine_action *request)
{
    for (enum play_row row = 0; row < PLAY_ANSWERS; row++)
        if (request->verb == words_table[row].verb && request->node == words_table[row].node &&
            request->slot == words_table[row].slot)
            return row;
    return PLAY_ROWS;
}

/* A request that asks even where no watch can be had. */
static bool words_is_optional(enum play_row row)
{
    return row == PLAY_LISTED || row == PLAY_LOOKED;
}

static const char *play_wrong_request(enum play_row row, const struct machine_action *request)
{
    const bool creates = request->verb == STORE_CREATE;

    if (request->optional != (request->watch && words_is_optional(row)))
        return "a watch that is optional or not";
    if (row == PLAY_WATCHED && !request->watch)
        return "nothing is watched";
    if (request->once != (row == PLAY_CREATED))
        return "sent once or not";
    if (request->bare != creates)
        return "the driver makes the parents";
    if (row == PLAY_CREATED && request->mode != STORE_EPHEMERAL_SEQUENTIAL)
        return "a node of another kind";
    if (request->more != (row == PLAY_ABOVE ? play.parents - 1 : 0))
        return "another number of nodes";
    return NULL;
}

static int words_put_child(char *text, size_t size, const char *verb, uint32_t id)
{
    for (size_t i = 0; i < play.count; i++)
        if (play.children[i].id == id)
            return snprintf(text, size, "%s %d", verb, play.children[i].number);
    return snprintf(text, size, "%s id-%u", verb, id);
}

static int words_put_request(char *text, size_t size, const struct machine_action *a)
{
    const enum play_row row = play_row_of(a);
    const char *asks = row < PLAY_ROWS ? words_table[row].asks : "?";

    switch (row) {
    case PLAY_ABOVE:
        return snprintf(text, size, "%s %u", asks, a->more + 1);
    case PLAY_READ:
        return snprintf(text, size, "%s", a->watch ? "read" : asks);
    case PLAY_WATCHED:
        if (a > play.out.list && a[-1].kind == MACHINE_ACT_TELL && a[-1].verdict == ATTEMPT_FOLLOW)
            return words_put_child(text, size, "watch", (uint32_t)a[-1].why);
        return snprintf(text, size, "%s", asks);
    case PLAY_LISTED:
    case PLAY_LOOKED:
    case PLAY_LIMITED:
    case PLAY_LIMITED_LOOK:
        return snprintf(text, size, "%s%s", asks, a->watch ? "-watch" : "");
    case PLAY_TOUCHED:
        if (a->version == 0)
            return snprintf(text, size, "%s", asks);
        return snprintf(text, size, "%s v%d", asks, a->version);
    case PLAY_WRITTEN:
    case PLAY_WRITTEN_LOOK:
        return snprintf(text, size, "%s v%d", asks, a->version);
    default:
        return snprintf(text, size, "%s", asks);
    }
}

static int words_put_failure(char *text, size_t size, const struct machine_action *a)
{
    if (a->why == ATTEMPT_LAYOUT)
        return words_put_child(text, size, "fail layout", a->node);
    if (a->node >= ATTEMPT_PARENT)
        return snprintf(text, size, "fail %s above %u", words_get(WORDS(words_errors), a->why),
                        a->node - ATTEMPT_PARENT);
    return snprintf(text, size, "fail %s", words_get(WORDS(words_errors), a->why));
}

static int words_put_verdict(char *text, size_t size, const struct machine_action *a)
{
    static const char *const plain[] = {
        [ATTEMPT_ADMIT] = "admit",         [ATTEMPT_GRANT] = "grant",   [ATTEMPT_ASKED] = "asked",
        [ATTEMPT_UNTOUCHED] = "untouched", [ATTEMPT_ORPHAN] = "orphan",
    };

    switch (a->verdict) {
    case ATTEMPT_ADOPT:
        return words_put_child(text, size, "adopt", (uint32_t)a->why);
    case ATTEMPT_FAIL:
        return words_put_failure(text, size, a);
    case ATTEMPT_LOSE:
        return snprintf(text, size, "lose %s", words_get(WORDS(words_losses), a->why));
    case ATTEMPT_OTHERS:
        return snprintf(text, size, "others %s", words_get(WORDS(words_others), a->why));
    default:
        return snprintf(text, size, "%s", words_get(WORDS(plain), a->verdict));
    }
}

/* Those that have no word are another machine's. */
static const char *words_of_node(const struct machine_action *a)
{
    static const char *const unwatch[] = {
        [ATTEMPT_PREDECESSOR] = "unwatch",
        [ATTEMPT_LIMIT] = "unwatch-limit",
        [ATTEMPT_CHILDREN] = "unwatch-children",
    };

    if (a->kind == MACHINE_ACT_UNWATCH && a->deleting)
        return a->node == ATTEMPT_CHILDREN ? "leave-children" : "?";
    if (a->kind == MACHINE_ACT_UNWATCH)
        return words_get(WORDS(unwatch), (int)a->node);
    if (a->kind == MACHINE_ACT_RECALL)
        return a->node == ATTEMPT_NEW ? "recall" : "?";
    return a->node == ATTEMPT_OWN ? "delete" : a->node == ATTEMPT_OURS ? "delete-all" : "?";
}

static int words_put(char *text, size_t size, const struct machine_action *a)
{
    switch (a->kind) {
    case MACHINE_ACT_REQUEST:
        return words_put_request(text, size, a);
    case MACHINE_ACT_TELL:
        return words_put_verdict(text, size, a);
    case MACHINE_ACT_ARM:
        return snprintf(text, size, "arm");
    case MACHINE_ACT_NOTE:
        return snprintf(text, size, "%s v%d", a->node == ATTEMPT_HINT ? "hint" : "?", a->version);
    case MACHINE_ACT_DELETE:
        if (a->node == ATTEMPT_SPARE)
            return snprintf(text, size, "delete-all-but %d", play.c.number);
        return snprintf(text, size, "%s", words_of_node(a));
    case MACHINE_ACT_UNWATCH:
    case MACHINE_ACT_RECALL:
        return snprintf(text, size, "%s", words_of_node(a));
    default:
        return snprintf(text, size, "?");
    }
}

static bool words_has_none(const struct machine_action *a)
{
    return a->kind == MACHINE_ACT_FORGET || a->kind == MACHINE_ACT_END ||
           a->kind == MACHINE_ACT_NAME ||
           (a->kind == MACHINE_ACT_TELL && a->verdict == ATTEMPT_FOLLOW);
}

const char *play_actions(void)
{
    static char text[256];
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < play.out.count; i++) {
        if (words_has_none(&play.out.list[i]))
            continue;
        if (used > 0)
            used += (size_t)snprintf(text + used, sizeof(text) - used, ", ");
        used += (size_t)words_put(text + used, sizeof(text) - used, &play.out.list[i]);
    }
    return text;
}

int64_t play_armed_ms(uint32_t action)
{
    const struct machine_action *a = &play.out.list[action];

    REQUIRE(action < play.out.count && a->kind == MACHINE_ACT_ARM);
    return (a->at - play.now) / MS_NS;
}

/* ---- a contender ---- */

void play_start(bool try_only)
{
    play_start_as(RULE_LOCK, try_only);
}

void play_start_as(enum rule rule, bool try_only)
{
    play = (struct play){.now = 77000 * MS_NS, .connection = 1};
    attempt_init(&play.c, rule, try_only);
}

void play_start_permits(uint32_t permits, bool try_only)
{
    play_start_as(RULE_LEASE, try_only);
    play.c.permits = permits;
    play.c.has_limit = true;
    play.c.limit = 2;
    play.c.limit_zxid = 9;
}

void play_start_lease(bool try_only)
{
    play_start_as(RULE_LEASE, try_only);
    attempt_count_leases(&play.c, 2);
}

void play_start_in_long_queue(uint32_t long_queue)
{
    play_start(false);
    play.c.long_queue = long_queue;
}

/* ---- what the driver does ---- */

bool play_is_under_way(enum play_row row)
{
    return row < PLAY_ANSWERS && play.asked[row].under_way > 0;
}

bool play_awaits(enum play_row row)
{
    return play_is_under_way(row) && !exchange_is_stale(&play.exchange, play.asked[row].number);
}

static void play_ask(const struct machine_action *a, const char *file, int line)
{
    const enum play_row row = play_row_of(a);
    const struct exchange_request number = exchange_ask(&play.exchange, a);
    const char *wrong;

    if (row == PLAY_ROWS) {
        runner_fail(file, line, "asks for what it never does: %u of %u", a->verb, a->node);
        return;
    }
    wrong = play_wrong_request(row, a);
    if (wrong)
        runner_fail(file, line, "%s: \"%s\"", wrong, play_actions());
    play.asked[row] = (struct play_request){number, a->more + 1, a->watch};
}

static void play_act(const struct machine_action *a, const char *file, int line)
{
    if (a->kind == MACHINE_ACT_REQUEST)
        play_ask(a, file, line);
    else if (a->kind == MACHINE_ACT_FORGET)
        exchange_forget(&play.exchange, a->slot);
    else if (a->kind == MACHINE_ACT_END)
        exchange_end(&play.exchange);
    if (a->kind != MACHINE_ACT_TELL)
        return;
    play.grants += a->verdict == ATTEMPT_GRANT;
    play.fails += a->verdict == ATTEMPT_FAIL;
    play.losses += a->verdict == ATTEMPT_LOSE;
}

/* Each request is answered once; those of a session that has ended are not heard. */
static bool play_hears(const struct play_event *h, const char *file, int line)
{
    if (h->row == PLAY_REPLACED || h->row == PLAY_END)
        memset(play.asked, 0, sizeof(play.asked));
    if (h->row >= PLAY_ANSWERS)
        return true;
    if (!play_is_under_way(h->row))
        return false;
    switch (exchange_answered(&play.exchange, h->to, &h->ev)) {
    case EXCHANGE_HEARD:
        play.asked[h->row].under_way--;
        if (h->ev.watched && !play.asked[h->row].watch)
            runner_fail(file, line, "nobody asked for that watch");
        return true;
    case EXCHANGE_PARENTS:
        runner_fail(file, line, "the driver would make the parents");
        return false;
    default:
        return false;
    }
}

/* ---- what holds at every step ---- */

static uint32_t play_count(enum machine_action_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < play.out.count; i++)
        count += play.out.list[i].kind == kind;
    return count;
}

static bool play_deletes_own(void)
{
    for (uint32_t i = 0; i < play.out.count; i++)
        if (play.out.list[i].kind == MACHINE_ACT_DELETE && play.out.list[i].node == ATTEMPT_OWN)
            return true;
    return false;
}

/* The end is the end of the attempt, and of the step. A watch on the children ends with it only if
 * the own node stood before the step, or is deleted by it. */
static void play_check_end(enum attempt_state from, bool stood, const char *file, int line)
{
    const bool ends = from != ST_DONE && play.c.state == ST_DONE;
    const struct machine_action *last =
        play.out.count > 0 ? &play.out.list[play.out.count - 1] : NULL;

    if (play_count(MACHINE_ACT_END) != ends)
        runner_fail(file, line, "%u ends", play_count(MACHINE_ACT_END));
    else if (ends && last->kind != MACHINE_ACT_END)
        runner_fail(file, line, "not the end: \"%s\"", play_actions());
    else if (ends && last->deleting && !stood && !play_deletes_own())
        runner_fail(file, line, "leaves a watch: \"%s\"", play_actions());
    if (from == ST_DONE && play.out.count > 0)
        runner_fail(file, line, "actions when done");
    if (from != ST_DONE && play.c.state == ST_DONE && *play_awaited())
        runner_fail(file, line, "awaits %s when done", play_awaited());
}

/* An attempt that enters anew takes a new name, behind all that is about its former node. */
static void play_check_name(enum attempt_state from, const char *file, int line)
{
    const bool enters_anew = from != ST_REENTERING && play.c.state == ST_REENTERING;
    bool named = false;

    for (uint32_t i = 0; i < play.out.count; i++) {
        const struct machine_action *a = &play.out.list[i];
        if (a->node != ATTEMPT_OWN)
            continue;
        if (named)
            runner_fail(file, line, "of the next node: \"%s\"", play_actions());
        named = a->kind == MACHINE_ACT_NAME;
    }
    if (play_count(MACHINE_ACT_NAME) != enters_anew)
        runner_fail(file, line, "%u new names", play_count(MACHINE_ACT_NAME));
}

/* Those of the list that was answered: all of it, and nothing else. */
static void play_check_deletes(const struct play_event *h, const char *file, int line)
{
    for (uint32_t i = 0; i < play.out.count; i++) {
        const struct machine_action *a = &play.out.list[i];
        const bool listed = a->node == ATTEMPT_SPARE || a->node == ATTEMPT_OURS;
        const bool shown = h->ev.verb == STORE_LIST && h->ev.rc == STORE_OK && h->ev.count > 0;
        if (a->kind != MACHINE_ACT_DELETE || (!listed && a->more == 0))
            continue;
        if (!listed || !shown || a->more != h->ev.count - 1)
            runner_fail(file, line, "deletes %u of %zu", a->more + 1, h->ev.count);
    }
}

static void play_check(const struct play_event *h, enum attempt_state from, bool stood,
                       const char *file, int line)
{
    const char *name = attempt_state_name(play.c.state);

    if (!attempt_invariant(&play.c))
        runner_fail(file, line, "inconsistent in %s", name);
    if (from != play.c.state && !attempt_may_move(from, play.c.state))
        runner_fail(file, line, "moved from %s to %s", attempt_state_name(from), name);
    if (play.grants + play.fails != play.c.told || play.losses > play.grants)
        runner_fail(file, line, "%u grants, %u fails, %u losses, told %d", play.grants, play.fails,
                    play.losses, play.c.told);
    play_check_end(from, stood, file, line);
    play_check_name(from, file, line);
    play_check_deletes(h, file, line);
}

bool play_give(const struct play_event *h, const char *file, int line)
{
    const enum attempt_state from = play.c.state;
    const bool stood = play.c.has_node;
    struct machine_event ev = h->ev;

    play.out.count = 0;
    play.now = h->m.now;
    if (!play_hears(h, file, line))
        return false;
    if (h->row >= PLAY_ANSWERS)
        exchange_set_unsent(&play.exchange, &ev, false);
    memset(&play.out, 0xa5, sizeof(play.out)); /* it is emptied by the step, not by its caller */
    attempt_step(&play.c, &ev, &h->m, &play.out);
    if (play.out.count > MACHINE_ACTIONS) {
        runner_fail(file, line, "%u actions", play.out.count);
        play.out.count = 0;
    }
    for (uint32_t i = 0; i < play.out.count; i++)
        play_act(&play.out.list[i], file, line);
    play_check(h, from, stood, file, line);
    return true;
}

/* ---- scripts ---- */

void play_say(const char *words, const char *file, int line)
{
    struct play_event h;

    play.now += MS_NS;
    if (play_event(&h, words))
        play_give(&h, file, line);
    else
        runner_fail(file, line, "not understood: \"%s\"", words);
}

void play_step(const char *words, enum attempt_state state, const char *actions, const char *file,
               int line)
{
    play_say(words, file, line);
    bool ok = runner_check_str(attempt_state_name(play.c.state), attempt_state_name(state), "state",
                               file, line);
    ok &= runner_check_str(play_actions(), actions, "actions", file, line);
    if (!ok)
        runner_fail(file, line, "after \"%s\"", words);
}

void play_reach(enum attempt_state state)
{
    static const char *const ways[ST_COUNT][6] = {
        [ST_IDLE] = {NULL},
        [ST_REENTERING] = {"enter", "replaced"},
        [ST_CREATING] = {"enter"},
        [ST_PARENTS] = {"enter", "created nonode"},
        [ST_SETTLING] = {"enter", "created unknown"},
        [ST_ADOPTING] = {"enter", "created unknown", "passed", "listed 7*"},
        [ST_LISTING] = {"enter", "created 7"},
        [ST_WAITING] = {"enter", "created 7", "listed 5 7*"},
        [ST_FIRST] = {"enter", "created 7", "listed 5x2 7*", "limited 2 z9", "left listed 5x2 7*"},
        [ST_SUCCEEDING] = {"enter", "created 7", "listed 4 5 7*", "pred gone"},
        [ST_PROVING] = {"enter", "created 7", "listed 5 7*", "pred gone"},
        [ST_CLAIMING] = {"enter", "nodeadline created 7", "nodeadline listed 7*"},
        [ST_RESETTING] = {"enter", "created 2147483647"},
        [ST_HOLDING] = {"enter", "created 7", "listed 7*"},
        [ST_LOST] = {"enter", "created 7", "listed 7*", "too-late"},
        [ST_LEAVING] = {"enter", "abort"},
        [ST_DONE] = {"enter", "created 7", "listed 7*", "release"},
    };
    if (state == ST_FIRST)
        play_start_permits(1, false);
    else
        play_start_in_long_queue(state == ST_SUCCEEDING ? 2 : 0);
    for (int i = 0; i < 6 && ways[state][i]; i++)
        SAY(ways[state][i]);
    CHECK_STR(attempt_state_name(play.c.state), attempt_state_name(state));
}
