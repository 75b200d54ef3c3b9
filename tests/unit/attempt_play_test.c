#include "attempt_play.h"

#include "rule.h"
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct play play;

static const char *const event_words[] = {
    [EV_ENTER] = "enter",
    [EV_CREATED] = "created",
    [EV_PARENTS_MADE] = "parents",
    [EV_PASSED] = "passed",
    [EV_LISTED] = "listed",
    [EV_READ] = "read",
    [EV_WATCHED] = "watched",
    [EV_PRED_FIRED] = "pred",
    [EV_OWN_FIRED] = "own",
    [EV_RESET] = "reset",
    [EV_TIMER] = "timer",
    [EV_EXTENDED] = "extended",
    [EV_LAPSED] = "lapsed",
    [EV_ABORT] = "abort",
    [EV_RELEASE] = "release",
    [EV_REPLACED] = "replaced",
    [EV_END] = "end",
    [EV_HINT_READ] = "hint",
    [EV_LOOK] = "look",
    [EV_CHILDREN_FIRED] = "children",
    [EV_HEED] = "heed",
    [EV_LIMIT_READ] = "limited",
    [EV_LIMIT_FIRED] = "limit-changed",
};

static const char *const answer_words[] = {
    [ANSWER_OK] = "ok",
    [ANSWER_UNKNOWN] = "unknown",
    [ANSWER_NONODE] = "nonode",
    [ANSWER_EXISTS] = "exists",
    [ANSWER_REFUSED] = "refused",
    [ANSWER_NOCHILDREN] = "nochildren",
    [ANSWER_NOTEMPTY] = "notempty",
    [ANSWER_LIMIT] = "limit",
    [ANSWER_BAD] = "bad",
};

static const char *const hint_words[] = {
    [HINT_NONE] = "empty",  [HINT_UNREAD] = "unread", [HINT_FOREIGN] = "foreign",
    [HINT_OTHER] = "other", [HINT_NAMED] = "named",
};

static const char *const others_words[] = {
    [OTHERS_UNKNOWN] = "unknown",
    [OTHERS_NONE] = "none",
    [OTHERS_WAIT] = "wait",
};

static const char *const loss_words[] = {
    [LOSS_NONE] = "none",       [LOSS_DEADLINE] = "deadline", [LOSS_EXPIRED] = "expired",
    [LOSS_DELETED] = "deleted", [LOSS_CLOSED] = "closed",
};

static const char *const error_words[] = {
    [ATTEMPT_BUSY] = "busy",
    [ATTEMPT_REFUSED] = "refused",
    [ATTEMPT_NOCHILDREN] = "nochildren",
    [ATTEMPT_OVERFLOW] = "overflow",
    [ATTEMPT_LIMIT] = "limit",
    [ATTEMPT_PROTOCOL] = "protocol",
    [ATTEMPT_LAYOUT] = "layout",
    [ATTEMPT_UNPROVED] = "unproved",
    [ATTEMPT_PERMITS] = "permits",
    [ATTEMPT_NOLIMIT] = "no-limit",
};

/* The event that answers an action's request, or -1. */
static int answered_by(enum action_kind kind)
{
    switch (kind) {
    case ACT_CREATE:
        return EV_CREATED;
    case ACT_PARENTS:
        return EV_PARENTS_MADE;
    case ACT_BARRIER:
        return EV_PASSED;
    case ACT_LIST:
        return EV_LISTED;
    case ACT_PROVE:
    case ACT_READ:
        return EV_READ;
    case ACT_READ_HINT:
        return EV_HINT_READ;
    case ACT_READ_LIMIT:
        return EV_LIMIT_READ;
    case ACT_WATCH:
    case ACT_REWATCH:
        return EV_WATCHED;
    case ACT_RESET:
        return EV_RESET;
    default:
        return -1;
    }
}

void play_start(bool try_only)
{
    play_start_as(RULE_LOCK, try_only);
}

void play_start_as(enum rule rule, bool try_only)
{
    play = (struct play){0};
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

static int find_word(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] && strcmp(words[i], word) == 0)
            return (int)i;
    return -1;
}

static bool read_number(struct event *ev, const char *word)
{
    char *end;
    long number = strtol(word, &end, 10);
    if (end == word)
        return false;
    if (ev->kind == EV_HINT_READ) {
        ev->count = (size_t)number;
        return *end == '\0';
    }
    if (ev->kind == EV_LIMIT_READ) {
        ev->limit = (int32_t)number;
        return *end == '\0';
    }
    if (ev->kind != EV_LISTED) {
        ev->number = (int32_t)number;
        ev->czxid = (uint64_t)(1000 + number);
        return *end == '\0';
    }
    REQUIRE(play.count < PLAY_CHILDREN);
    const uint32_t permits = *end == 'x' ? (uint32_t)strtol(end + 1, &end, 10) : 1;
    const enum rule rule = *end == '?'                 ? RULE_NONE
                           : *end == '!'               ? RULE_LATCH
                           : *end == 'r'               ? RULE_READ
                           : *end == 'w'               ? RULE_WRITE
                           : play.c.rule == RULE_LEASE ? RULE_LEASE
                                                       : RULE_LOCK;
    play.children[play.count] = (struct child){
        .id = (uint32_t)(200 + play.count),
        .kind = rule_kind(rule),
        .rule = rule,
        .permits = permits,
        .number = *end == '?' ? 0 : (int32_t)number,
        .own = *end == '*',
        .old = *end == '~',
        .retains = *end == '+',
    };
    ev->children = play.children;
    ev->count = ++play.count;
    return *end == '\0' || strchr("*~?!+rw", *end);
}

static bool read_word(struct event *ev, const char *word, bool *stale)
{
    int kind = find_word(event_words, sizeof(event_words) / sizeof(*event_words), word);
    int answer = find_word(answer_words, sizeof(answer_words) / sizeof(*answer_words), word);
    int hint = find_word(hint_words, sizeof(hint_words) / sizeof(*hint_words), word);
    if (strcmp(word, "stale") == 0)
        *stale = true;
    else if (strcmp(word, "nodeadline") == 0)
        ev->in_time = false;
    else if (strcmp(word, "again") == 0)
        ev->connection = ++play.connection;
    else if (strcmp(word, "ours") == 0)
        ev->ephemeral_owner = PLAY_SESSION;
    else if (strcmp(word, "others") == 0) /* a session that is not the present one */
        ev->ephemeral_owner = PLAY_SESSION - 1;
    else if (strcmp(word, "gone") == 0)
        ev->gone = true;
    else if (strcmp(word, "changed") == 0)
        ev->gone = false;
    else if (strcmp(word, "left") == 0)
        ev->watched = true;
    else if (strcmp(word, "asked") == 0)
        ev->asked = true;
    else if (hint >= 0)
        ev->hint = (enum head_hint)hint;
    else if (word[0] == 'z')
        ev->data_zxid = (uint64_t)atoi(word + 1);
    else if (word[0] == 'v')
        ev->version = atoi(word + 1);
    else if (kind >= 0)
        ev->kind = (enum event_kind)kind;
    else if (answer >= 0)
        ev->answer = (enum answer)answer;
    else
        return read_number(ev, word);
    if (kind == EV_LISTED)
        play.count = 0;
    if (kind == EV_WATCHED)
        ev->ephemeral_owner = PLAY_SESSION - 1;
    return true;
}

bool play_event(struct event *ev, const char *words)
{
    char copy[128], *rest = copy;
    bool stale = false;
    *ev = (struct event){.in_time = true,
                         .ephemeral_owner = PLAY_SESSION,
                         .session = PLAY_SESSION,
                         .timeout_ms = PLAY_TIMEOUT_MS,
                         .connection = play.connection,
                         .data_zxid = play.c.limit_zxid};
    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word; (word = strsep(&rest, " "));)
        if (!read_word(ev, word, &stale))
            return false;
    if (ev->kind == EV_ABORT || ev->kind == EV_END)
        ev->error = PLAY_ERROR;
    ev->loss = ev->kind == EV_REPLACED ? LOSS_EXPIRED
               : ev->kind == EV_END    ? LOSS_CLOSED
                                       : LOSS_NONE;
    ev->tag = play.tags[ev->kind] - stale;
    return true;
}

static void count_actions(void)
{
    for (uint32_t i = 0; i < play.out.count; i++) {
        const struct action *a = &play.out.list[i];
        if (answered_by(a->kind) >= 0)
            play.tags[answered_by(a->kind)] = a->tag;
        play.grants += a->kind == ACT_GRANT;
        play.fails += a->kind == ACT_FAIL;
        play.revokes += a->kind == ACT_REVOKE;
    }
}

void play_give(const struct event *ev, const char *file, int line)
{
    enum attempt_state from = play.c.state;
    memset(&play.out, 0xa5, sizeof(play.out)); /* it is emptied by the step, not by its caller */
    attempt_step(&play.c, ev, &play.out);
    if (play.out.count > ATTEMPT_ACTIONS) {
        runner_fail(file, line, "%u actions", play.out.count);
        play.out.count = 0;
    }
    count_actions();
    const char *name = attempt_state_name(play.c.state);
    if (!attempt_invariant(&play.c))
        runner_fail(file, line, "inconsistent in %s", name);
    if (from != play.c.state && !attempt_may_move(from, play.c.state))
        runner_fail(file, line, "moved from %s to %s", attempt_state_name(from), name);
    if (play.grants + play.fails != play.c.told || play.revokes > play.grants)
        runner_fail(file, line, "%u grants, %u fails, %u revokes, told %d", play.grants, play.fails,
                    play.revokes, play.c.told);
    if (from == ST_DONE && play.out.count > 0)
        runner_fail(file, line, "actions when done");
}

void play_say(const char *words, const char *file, int line)
{
    struct event ev;
    if (play_event(&ev, words))
        play_give(&ev, file, line);
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

static int put_child(char *text, size_t size, const char *verb, uint32_t id)
{
    for (size_t i = 0; i < play.count; i++)
        if (play.children[i].id == id)
            return snprintf(text, size, "%s %d", verb, play.children[i].number);
    return snprintf(text, size, "%s id-%u", verb, id);
}

static int put_action(char *text, size_t size, const struct action *a)
{
    static const char *const plain[] = {
        [ACT_CREATE] = "create",       [ACT_PARENTS] = "parents",
        [ACT_BARRIER] = "barrier",     [ACT_READ] = "read",
        [ACT_REWATCH] = "rewatch",     [ACT_UNWATCH] = "unwatch",
        [ACT_DELETE] = "delete",       [ACT_DELETE_ALL] = "delete-all",
        [ACT_RESET] = "reset",         [ACT_ARM] = "arm",
        [ACT_GRANT] = "grant",         [ACT_ORPHAN] = "orphan",
        [ACT_READ_HINT] = "read-hint", [ACT_PROVE] = "prove",
        [ACT_ADMIT] = "admit",         [ACT_ASKED] = "asked",
        [ACT_TOUCH] = "touch",         [ACT_UNWATCH_LIMIT] = "unwatch-limit",
    };
    switch (a->kind) {
    case ACT_ADOPT:
        return put_child(text, size, "adopt", a->id);
    case ACT_WATCH:
        return put_child(text, size, "watch", a->id);
    case ACT_LIST:
        return snprintf(text, size, a->watch ? "list-watch" : "list");
    case ACT_READ_LIMIT:
        return snprintf(text, size, a->watch ? "limit-watch" : "limit");
    case ACT_OTHERS:
        return snprintf(text, size, "others %s", others_words[a->others]);
    case ACT_REVOKE:
        return snprintf(text, size, "revoke %s",
                        a->loss <= LOSS_CLOSED ? loss_words[a->loss] : "?");
    case ACT_SET_HINT:
        return snprintf(text, size, "hint v%d", a->number);
    case ACT_DELETE_SPARE:
        return snprintf(text, size, "delete-all-but %d", a->number);
    case ACT_FAIL:
        if (a->error == PLAY_ERROR)
            return snprintf(text, size, "fail aborted");
        if (a->error == ATTEMPT_LAYOUT)
            return put_child(text, size, "fail layout", a->id);
        return snprintf(text, size, "fail %s",
                        a->error > 0 && a->error < ATTEMPT_ABORTED ? error_words[a->error] : "?");
    default:
        return snprintf(text, size, "%s", plain[a->kind]);
    }
}

const char *play_actions(void)
{
    static char text[256];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < play.out.count; i++) {
        if (i > 0)
            used += (size_t)snprintf(text + used, sizeof(text) - used, ", ");
        used += (size_t)put_action(text + used, sizeof(text) - used, &play.out.list[i]);
    }
    return text;
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
        [ST_LAPSED] = {"enter", "created 7", "listed 7*", "lapsed"},
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
