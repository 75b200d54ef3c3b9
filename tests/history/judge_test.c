/* One table of histories that must be accepted or rejected: by the judge of paths, by that of one
 * number, and by the demo's verdict. No rule of theirs may be without a history that it rejects.
 *
 * A history is a list of "MS WORKER PID KIND VALUE TOKEN TURN;", of which what is 0 at the end may
 * be left out. What is wanted is written KIND@PATHS, or KIND@PATHS*PERMITS/LIMIT. A change is one
 * of
 *
 *     +MS WORKER PID KIND ...       one event more
 *     -KIND PID TOKEN               one event less
 *     KIND PID TOKEN FIELD=VALUE... one event otherwise; the fields are those above
 *     * PID TOKEN FIELD=VALUE...    all events of that process and token
 *     =NAME VALUE                   what the judge is told beside the events */
#include "judge.h"

#include "tests/demo/verdict.h"
#include "tests/support/runner.h"

#include <glib/gstdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST_SUITE(judge);

/* ---- a history that can be changed ---- */

static struct trial {
    GArray *events;
    struct register_end end;
    int nodes_left;
    bool garbled, unsafe;
    int64_t idle_ns, service_ns;
} trial;

static int64_t ns_of(const char *ms)
{
    const double ns = g_ascii_strtod(ms, NULL) * 1e6;

    return (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

static int64_t claim_value(const char *text)
{
    static const char *const kinds[CLAIM_KINDS] = {
        [CLAIM_LOCK] = "lock",   [CLAIM_SEVERAL] = "several", [CLAIM_READ] = "read",
        [CLAIM_WRITE] = "write", [CLAIM_PERMITS] = "permits", [CLAIM_NUMBERED] = "numbered",
        [CLAIM_ONCE] = "once",
    };
    char kind[16];
    claim c = {.permits = 0};

    REQUIRE(sscanf(text, "%15[a-z]@%u*%d/%d", kind, &c.paths, &c.permits, &c.limit) >= 2);
    while (strcmp(kinds[c.kind], kind) != 0)
        REQUIRE(++c.kind < CLAIM_KINDS);
    return claim_pack(&c);
}

static event_kind kind_of(const char *name)
{
    const event_kind kind = history_kind(name);

    if (kind == EV_KINDS)
        runner_fail_fatal(__FILE__, __LINE__, name);
    return kind;
}

static void set_field(event *e, const char *name, const char *value)
{
    const int64_t number = strchr(value, '@') ? claim_value(value) : atoll(value);

    if (strcmp(name, "ms") == 0)
        e->ns = ns_of(value);
    else if (strcmp(name, "worker") == 0)
        e->worker = (int)number;
    else if (strcmp(name, "pid") == 0)
        e->pid = (int)number;
    else if (strcmp(name, "kind") == 0)
        e->kind = kind_of(value);
    else if (strcmp(name, "value") == 0)
        e->value = number;
    else if (strcmp(name, "token") == 0)
        e->token = (uint64_t)number;
    else if (strcmp(name, "turn") == 0)
        e->turn = (uint64_t)number;
    else
        runner_fail_fatal(__FILE__, __LINE__, name);
}

static void add(char **words)
{
    static const char *const fields[] = {"ms", "worker", "pid", "kind", "value", "token", "turn"};
    event e = {0};

    for (int i = 0; words[i]; i++)
        set_field(&e, fields[i], words[i]);
    g_array_append_val(trial.events, e);
}

static bool is_meant(const event *e, char **words)
{
    return (strcmp(words[0], "*") == 0 || e->kind == kind_of(words[0])) &&
           e->pid == atoi(words[1]) && e->token == (uint64_t)atoll(words[2]);
}

static guint find(char **words)
{
    for (guint i = 0; i < trial.events->len; i++)
        if (is_meant(&g_array_index(trial.events, event, i), words))
            return i;
    runner_fail_fatal(__FILE__, __LINE__, words[0]);
}

static void alter(event *e, char **words)
{
    for (; *words; words++) {
        char **pair = g_strsplit(*words, "=", 2);

        set_field(e, pair[0], pair[1]);
        g_strfreev(pair);
    }
}

static void alter_all(char **words)
{
    for (guint i = find(words); i < trial.events->len; i++)
        if (is_meant(&g_array_index(trial.events, event, i), words))
            alter(&g_array_index(trial.events, event, i), words + 3);
}

static void tell(const char *name, const char *value)
{
    if (strcmp(name, "number") == 0)
        trial.end.number = atoll(value);
    else if (strcmp(name, "token") == 0)
        trial.end.token = (uint64_t)atoll(value);
    else if (strcmp(name, "turn") == 0)
        trial.end.turn = (uint64_t)atoll(value);
    else if (strcmp(name, "left") == 0)
        trial.nodes_left = atoi(value);
    else if (strcmp(name, "garbled") == 0)
        trial.garbled = atoi(value) != 0;
    else if (strcmp(name, "unsafe") == 0)
        trial.unsafe = atoi(value) != 0;
    else if (strcmp(name, "idle") == 0)
        trial.idle_ns = ns_of(value);
    else if (strcmp(name, "service") == 0)
        trial.service_ns = ns_of(value);
    else
        runner_fail_fatal(__FILE__, __LINE__, name);
}

static void change(char **words)
{
    char *first = words[0];

    if (*first == '=') {
        tell(first + 1, words[1]);
    } else if (*first == '+' || g_ascii_isdigit(*first)) {
        words[0] += *first == '+';
        add(words);
    } else if (*first == '-') {
        words[0]++;
        g_array_remove_index(trial.events, find(words));
    } else if (*first == '*') {
        alter_all(words);
    } else {
        alter(&g_array_index(trial.events, event, find(words)), words + 3);
    }
    words[0] = first;
}

static void trial_change(const char *changes)
{
    char **each = g_strsplit(changes, ";", -1);
    history h = {.events = trial.events};

    for (char **one = each; *one; one++) {
        char **words = g_strsplit(g_strstrip(*one), " ", -1);

        if (words[0])
            change(words);
        g_strfreev(words);
    }
    g_strfreev(each);
    history_sort(&h);
}

static void trial_begin(const char *given)
{
    if (trial.events)
        g_array_free(trial.events, TRUE);
    trial = (struct trial){.idle_ns = ns_of("1500"), .service_ns = ns_of("3500")};
    trial.events = g_array_new(FALSE, TRUE, sizeof(event));
    trial_change(given);
}

/* ---- the table ---- */

struct row {
    const char *name;
    const char *history; /* NULL: the changes are made to the row before */
    const char *changes;
    const char *expected; /* NULL: accepted; else the verdict, or what the demo must say */
    const char *figures;  /* NAME=NUMBER, of the judgement: times in ms */
};

/* clang-format off */

/* Path 0: w0 releases; w2 is cut off and loses; w0 is killed while it holds and comes again as 20;
 * w2 is stopped while it holds and its write is refused; an administrator deletes 20's node; w2
 * holds when its session is ended by force. Path 1: w1 alone. */
#define GOOD                                                                                       \
    "1 0 10 want; 2 2 12 want; 3 1 11 want; 10 0 10 grant 900 1; 10 1 11 grant 900 2;"             \
    "11 0 10 owner 100 1; 20 0 10 write 1 1; 22 0 10 seen 890 1; 30 0 10 release 0 1;"             \
    "31 1 11 write 1 2; 32 1 11 release 0 2; 40 2 12 grant 800 3; 41 2 12 owner 102 3;"            \
    "50 2 12 seen 900 3; 55 -1 0 fault 1; 60 0 10 want 0 1; 500 2 12 suspect 0 3;"                 \
    "940 2 12 seen 10 3; 951 2 12 told 0 3; 952 2 12 lost 0 3; 953 2 12 elost 0 3;"                \
    "1100 0 10 grant 900 4; 1110 0 10 write 2 4; 1120 2 12 want 0 3; 1130 0 10 seen 900 4;"        \
    "1140 0 10 kill; 1200 0 20 want; 2300 2 12 grant 900 5; 2310 2 12 seen 900 5;"                 \
    "2311 2 12 stop; 3500 0 20 grant 900 6; 3510 0 20 write 3 6; 4000 2 12 goon;"                  \
    "4001 2 12 refused 0 5; 4002 2 12 told 0 5; 4003 2 12 lost 0 5; 4004 2 12 elost 0 5;"          \
    "4005 2 12 want 0 5; 4010 -1 0 delete 0 6; 4020 2 12 grant 900 7; 4021 2 12 owner 102 7;"      \
    "4030 0 20 seen 700 6; 4040 0 20 told 0 6; 4041 0 20 lost 0 6; 4042 0 20 elost 0 6;"           \
    "4043 0 20 want 0 6; 4050 -1 0 evict 102; 4060 0 20 grant 900 8; 4070 2 12 seen 700 7;"        \
    "4080 2 12 told 0 7; 4081 2 12 lost 0 7; 4090 0 20 write 4 8; 4091 0 20 release 0 8;"

/* And w2 retains: its next turn begins after its session was ended and 20 has the grant. */
#define OUTLIVED                                                                                   \
    "seen 12 7 ms=4053; -told 12 7; -lost 12 7; +4054 2 12 release 0 7; +4055 2 12 want 0 7;"      \
    "+4065 2 12 grant 700 7 1; +4065.1 2 12 owner 102 7 1; +4070 2 12 seen 690 7 1;"               \
    "+4080 2 12 told 0 7 1; +4081 2 12 lost 0 7 1"

/* The same as GOOD, and w1 has its grant for two turns, of which the second begins when the first is over. */
#define TURNS GOOD                                                                                 \
    "33 1 11 want 0 2; 34 1 11 grant 900 2 1; 35 1 11 write 2 2 1; 36 1 11 release 0 2 1;"

/* w0 and w2 read at once; then w4 writes; then w0 and w6 read at once. */
#define READERS                                                                                    \
    "1 0 10 want read@1; 2 2 12 want read@1; 15 4 14 want write@1; 55 0 10 want read@1;"           \
    "56 6 16 want read@1; 10 0 10 grant 900 1; 10.1 0 10 owner 100 1; 12 2 12 grant 900 2;"        \
    "12.1 2 12 owner 102 2; 20 0 10 seen 890 1; 20 2 12 seen 890 2; 30 0 10 release 0 1;"          \
    "40 2 12 release 0 2; 50 4 14 grant 900 3; 50.1 4 14 owner 104 3; 51 4 14 write 1 3;"          \
    "60 4 14 seen 890 3; 61 4 14 release 0 3; 62 0 10 grant 900 4; 62.1 0 10 owner 100 4;"         \
    "63 6 16 grant 900 5; 63.1 6 16 owner 106 5; 64 6 16 read 1 5; 64.1 0 10 read 1 4;"            \
    "70 0 10 seen 890 4; 70 6 16 seen 890 5; 80 6 16 release 0 5; 81 0 10 release 0 4;"

/* w0 has the numbers 0 and 1, w2 has 2, and w4 gets it after that. Tokens need not rise. */
#define PERMITS                                                                                    \
    "1 0 10 want numbered@1*2/3; 1 2 12 want numbered@1*1/3; 2 4 14 want numbered@1*1/3;"          \
    "10 0 10 grant 900 2; 10.1 0 10 owner 100 2; 10.2 0 10 numbers 3 2; 11 2 12 grant 900 1;"      \
    "11.1 2 12 owner 102 1; 11.2 2 12 numbers 4 1; 20 2 12 seen 880 1; 21 2 12 release 0 1;"       \
    "30 4 14 grant 900 3; 30.1 4 14 owner 104 3; 30.2 4 14 numbers 4 3; 40 0 10 seen 890 2;"       \
    "41 0 10 release 0 2; 50 4 14 release 0 3;"

/* w0 has both paths, by the tokens 1 and 2; then w1 has the second and w2 the first. */
#define SEVERAL                                                                                    \
    "1 0 10 want several@3; 2 1 11 want lock@2; 3 2 12 want lock@1; 10 0 10 grant 900 1;"          \
    "10.1 0 10 owner 100 1; 10.2 0 10 part 2 1; 11 0 10 write 1 1; 12 0 10 write 1 2;"             \
    "20 0 10 seen 890 1; 21 0 10 release 0 1; 30 1 11 grant 900 5; 30.1 1 11 owner 101 5;"         \
    "31 1 11 write 2 5; 30 2 12 grant 900 4; 30.1 2 12 owner 102 4; 31 2 12 write 2 4;"            \
    "40 1 11 release 0 5; 40 2 12 release 0 4;"

/* w0 runs what is due at 1000 and spares w1, which runs what is due at 3000. w0 is killed while it
 * runs what is due at 5000, so w2 begins so late that it is for 7000. w1 gives up the run of 9000,
 * and w2, which begins it again, does not know whether it is recorded. The servers' clock is 5 ms
 * ahead. */
#define RUNS                                                                                       \
    "990 0 10 want once@1; 1000 0 10 grant 900 1; 1100 1 11 want once@1; 1290 0 10 seen 890 1;"    \
    "1291 0 10 release 0 1; 1300 0 10 ended 0 1; 1310 1 11 spared; 2900 1 11 want once@1;"         \
    "2910 1 11 grant 900 2; 1000 1 11 run 2000 1 3005; 3190 1 11 seen 890 2;"                      \
    "3191 1 11 release 0 2; 3200 1 11 ended 0 2; 4950 0 10 want once@1; 4960 0 10 grant 900 3;"    \
    "2905 0 10 run 2095 2 5005; 4970 2 12 want once@1; 5100 0 10 kill; 6500 2 12 grant 900 4;"     \
    "2905 2 12 run 2095 2 5005; 6690 2 12 seen 890 4; 6691 2 12 release 0 4; 6700 2 12 ended 0 4;" \
    "8200 1 11 want once@1; 8210 1 11 grant 900 5; 6495 1 11 run 2505 4 9005;"                     \
    "8290 1 11 seen 890 5; 8291 1 11 release 0 5; 8300 1 11 ended 1 5; 8250 2 12 want once@1;"     \
    "8310 2 12 grant 900 6; 8400 2 12 seen 890 6; 8410 2 12 release 0 6; 8500 2 12 ended -24 6;"   \
    "8306 1 11 run 2694 6 11005;"

static const struct row paths[] = {
    {"good", GOOD, "", NULL,
     "grants=8 losses=4 kills=1 refused=1 third_party=2 overlaps=0 falls=0 successions=3 "
     "slow_successions=0 longest_wait=2300 worst_succession=290"},
    {"a slow succession", GOOD, "=service 289.999999", NULL, "slow_successions=1"},
    {"over when it was first looked at: nobody believed in it", GOOD,
     "+5000 2 12 want 0 7; +6000 0 20 want 0 8; +7000 0 20 grant 900 10; +7000.000001 2 12 grant 0 9;"
     "+7000.000002 2 12 told 0 9; +7000.000003 2 12 lost 0 9; +7000.000004 0 20 release 0 10", NULL, ""},
    {"the owner again, before its own deadline", GOOD,
     "-release 20 8; +4091 0 20 told 0 8; +4092 0 20 lost 0 8; +4093 0 20 want 0 8;"
     "+4094 0 20 grant 900 9; +4095 0 20 release 0 9", NULL, ""},
    {"reaped after it was killed", GOOD, "+1141 0 10 dead 9", NULL, "kills=1"},
    {"released before the kill came", GOOD, "+1140.5 0 10 release 0 4; +1141 0 10 dead 9", NULL, "kills=0"},
    /* V1 */
    {"looked and had none any more", GOOD, "seen 12 5 ms=3501 value=0", NULL, ""},
    {"overlap", GOOD, "+3501 2 12 seen 1 5", "V1", "overlaps=1"},
    {"overlap of a stopped holder: first thing on waking", GOOD, "+3999 2 12 seen 1 5", "V1", ""},
    {"overlap of a late release", GOOD, "release 10 1 ms=45; +44 0 10 seen 800 1", "V1", ""},
    {"released between", GOOD,
     "+3600 0 20 release 0 6; -delete 0 6; -told 20 6; -lost 20 6; -elost 20 6; seen 20 6 value=0", NULL, ""},
    {"and another between", NULL,
     "+3700 4 14 want; +3800 4 14 grant 100 7; +3900 4 14 release 0 7; * 12 7 token=70;"
     "* 20 8 token=80", NULL, ""},
    {"overlap with the next but one", NULL, "+3950 2 12 seen 1 5", "V1", ""},
    /* V2 */
    {"a promise broken by 1 ms", GOOD, "seen 12 3 value=1051", "V2", ""},
    {"the promise of one killed", GOOD, "seen 10 4 value=1171", "V2", ""},
    {"a promise void by release", GOOD, "seen 10 1 value=60000", NULL, ""},
    {"void by a third party", GOOD,
     "seen 10 4 value=1171; +1101 0 10 owner 110 4; +1150 -1 0 evict 110", NULL, ""},
    {"a third party that came behind it", NULL, "evict 0 0 ms=2301", "V2", ""},
    {"a turn of a session that was ended, before it hears", GOOD,
     OUTLIVED "; +4067 0 20 seen 890 8", NULL, "turns=1 overlaps=0"},
    {"a turn of one whose session stands", GOOD, OUTLIVED "; -evict 0 0", "V3", ""},
    {"a turn that began before the session was ended", GOOD, OUTLIVED "; evict 0 0 ms=4066", "V3", ""},
    {"a later node of a session that was ended", GOOD,
     "seen 12 7 ms=4053; -told 12 7; -lost 12 7; +4054 2 12 release 0 7; +4055 2 12 want 0 7;"
     "+4065 2 12 grant 700 9; +4065.1 2 12 owner 102 9; +4067 0 20 seen 890 8;"
     "+4070 2 12 seen 690 9; +4080 2 12 told 0 9; +4081 2 12 lost 0 9", "V1", ""},
    /* V3 */
    {"a token that falls", GOOD, "* 12 3 token=1", "V3", "falls=1"},
    {"tokens of another path", GOOD, "* 11 2 token=1000", NULL, ""},
    {"a place in line", GOOD, "+3 2 12 line 102 3", NULL, "kept=1"},
    {"a lost place", NULL, "line 12 3 token=2", "V3", ""},
    {"a place of another session", NULL, "line 12 2 value=101", NULL, ""},
    {"turns", TURNS, "", NULL, "turns=1 longest_unused=10 unused_share=0.006667 slow_unused=0"},
    {"turns, long unused", NULL, "=idle 9.999999", NULL, "slow_unused=1"},
    {"a write of the first turn that comes late", NULL, "+37 1 11 refused 0 2", NULL, ""},
    {"a turn that was over when it was looked at", NULL,
     "+38 1 11 want 0 2 1; +39 1 11 grant 0 2 2; +40 1 11 told 0 2 2; +41 1 11 lost 0 2 2", NULL, "turns=1"},
    {"a turn that does not rise", GOOD,
     "+33 1 11 want 0 2; +34 1 11 grant 900 2; +35 1 11 write 2 2 1; +36 1 11 release 0 2 1", "V3", ""},
    {"a turn of another's token", GOOD,
     "+33 5 15 want 0 2; +34 5 15 grant 900 2 1; +35 5 15 write 2 2 1; +36 5 15 release 0 2 1", "V3", ""},
    /* V4 */
    {"an accepted stale write", GOOD, "refused 12 5 value=4 kind=write; write 20 8 value=5", "V4", ""},
    {"a lost write", GOOD, "write 20 8 value=3", "V4", ""},
    {"a write of an earlier turn", TURNS, "+37 1 11 write 3 2", "V4", ""},
    {"a write of who holds nothing", GOOD,
     "+35 0 10 write 2 1; write 10 4 value=3; write 20 6 value=4; write 20 8 value=5", "V4", ""},
    /* V5, V6 */
    {"one that waits for ever", GOOD, "+5000 2 12 want 0 7", "V5", ""},
    {"until it is killed", NULL, "+6000 2 12 kill", NULL, ""},
    {"nothing", "", "", "V5", ""},
    {"a node left", GOOD, "=left 1", "V6", ""},
    /* V7 */
    {"a silent loss", GOOD, "-told 12 3", "V7", ""},
    {"a silent loss by a third party", GOOD, "-told 20 6", "V7", ""},
    {"a release that heard of the loss", GOOD, "-lost 12 5; +4003 2 12 release 0 5", NULL, ""},
    {"and no word of it", NULL, "-told 12 5", "V7", ""},
    {"killed before it could be told", NULL, "+8000 2 12 kill", NULL, ""},
    {"killed much later", NULL, "kill 12 0 ms=70000", "V7", ""},
    {"told twice", GOOD, "+990 2 12 told 0 3", "V7", ""},
    {"told HELD after LOST", GOOD, "+990 2 12 held 0 3", "V7", ""},
    {"told LOST after a release that was well", GOOD, "+35 0 10 told 0 1", "V7", ""},
    {"late by its own stopped time", GOOD, "told 12 5 ms=70000; goon 12 0 ms=69000", NULL, ""},
    {"late", NULL, "goon 12 0 ms=4000", "V7", "latest_told=66000"},
    /* V0 */
    {"a call that failed", GOOD, "+100 0 10 error -3", "V0", ""},
    {"ended badly", GOOD, "+100 0 10 dead 11", "V0", ""},
    {"a hold without an end", GOOD, "-release 20 8", "V0", ""},
    {"a release of what is not held", GOOD, "+33 0 10 release 0 1", "V0", ""},
    {"a garbled line", GOOD, "=garbled 1", "V0", ""},
    {"a worker that is not there", GOOD, "+100 16 26 ready", "V0", ""},
    /* readers */
    {"readers", READERS, "", NULL,
     "readers=2 read.grants=4 read.wait=10 write.grants=1 write.wait=35 longest_unused=0"},
    {"the last two at once", READERS, "-seen 10 1", NULL, "readers=2"},
    {"the first two at once", READERS, "-seen 10 4", NULL, "readers=2"},
    {"no two at once", NULL, "-seen 10 1", NULL, "readers=1"},
    {"a reader elsewhere", NULL,
     "+1 1 11 want read@2; +11 1 11 grant 900 7; +11.1 1 11 owner 101 7; +70 1 11 seen 890 7;"
     "+71 1 11 release 0 7", NULL, "readers=1"},
    {"a reader before the writer's end", READERS, "grant 10 4 ms=59", "V1", ""},
    {"a writer that stays", READERS, "+65 4 14 seen 880 3; release 14 3 ms=66", "V1", ""},
    {"a writer before a reader's end", READERS, "+51 2 12 seen 880 2; release 12 2 ms=52", "V1", ""},
    {"a writer beside the last two", READERS,
     "+56 2 12 want write@1; +65 2 12 grant 900 6; +65.1 2 12 owner 102 6; +90 2 12 release 0 6", "V1", ""},
    {"the promise of a killed reader", READERS, "release 12 2 kind=kill", "V2", ""},
    {"which binds no reader", READERS, "release 10 4 kind=kill; seen 10 4 ms=63", NULL, ""},
    {"but a writer", NULL,
     "+85 2 12 want write@1; +90 2 12 grant 900 6; +90.1 2 12 owner 102 6; +91 2 12 release 0 6", "V2", ""},
    {"a writer's token below a reader's", READERS, "* 10 1 token=9", "V3", ""},
    {"readers' tokens fall", READERS, "* 10 1 token=2; * 12 2 token=1", NULL, ""},
    {"a read of what is gone", READERS, "read 10 4 value=0", "V4", ""},
    {"a read of who was before the writer", READERS, "+75 2 12 read 1 2", "V4", ""},
    /* permits */
    {"permits", PERMITS, "", NULL, "permits=3 readers=0 numbered.grants=3 numbered.wait=28"},
    {"a permit too many", PERMITS,
     "+3 6 16 want permits@1*1/3; +12 6 16 grant 900 4; +12.1 6 16 owner 106 4; +19 6 16 release 0 4", "V1",
     "overlaps=1 permits=4"},
    {"a permit too many for the next", PERMITS,
     "+3 6 16 want permits@1*1/3; +25 6 16 grant 900 4; +25.1 6 16 owner 106 4; +39 6 16 seen 890 4;"
     "+39 6 16 release 0 4", "V1", ""},
    {"given back in time", NULL, "seen 16 4 ms=29; release 16 4 ms=29", NULL, ""},
    {"permits of another semaphore", PERMITS,
     "+3 7 17 want numbered@2*3/3; +12 7 17 grant 900 4; +12.1 7 17 owner 107 4;"
     "+12.2 7 17 numbers 7 4; +39 7 17 seen 890 4; +39 7 17 release 0 4", NULL, ""},
    {"a permit that is promised to one killed", PERMITS,
     "release 12 1 kind=kill; numbers 12 1 value=0", "V2", ""},
    {"promised for less", NULL, "seen 12 1 value=9; grant 12 1 value=9", NULL, ""},
    {"taken away by a third party", PERMITS, "release 12 1 kind=kill; +25 -1 0 delete 0 1", NULL, ""},
    {"granted late to a session that was ended", PERMITS,
     "grant 12 1 ms=32; owner 12 1 ms=32.1; numbers 12 1 ms=32.2; seen 12 1 ms=33;"
     "release 12 1 ms=34; +35 4 14 seen 890 3; +25 -1 0 evict 102", NULL, "overlaps=0"},
    {"and to one that stands", NULL, "-evict 0 0", "V1", "overlaps=1"},
    {"a number twice, with permits enough", PERMITS,
     "seen 10 2 ms=28; release 10 2 ms=29; seen 12 1 ms=35; release 12 1 ms=36", "V1", ""},
    {"a number of one that is gone", NULL, "numbers 14 3 value=1", NULL, ""},
    {"a number of one that is there", NULL,
     "seen 10 2 ms=31; release 10 2 ms=32; seen 12 1 ms=25; release 12 1 ms=26", "V1", ""},
    {"a number that is promised", NULL,
     "seen 10 2 ms=28; release 10 2 ms=29; seen 12 1 ms=20; release 12 1 ms=21 kind=kill;"
     "numbers 14 3 value=4", "V2", ""},
    {"permits seen too late", PERMITS,
     "+3 6 16 want permits@1*3/3; +15 6 16 grant 0 4; +15.1 6 16 told 0 4; +16 6 16 lost 0 4", NULL, ""},
    /* V8 */
    {"killed before it said its numbers", PERMITS,
     "numbers 12 1 value=0; -release 12 1; +12 2 12 kill; seen 12 1 ms=11.05 value=1;"
     "grant 12 1 value=1; seen 10 2 ms=28; release 10 2 ms=29", NULL, ""},
    {"no number", NULL, "numbers 10 2 value=0", "V8", ""},
    {"one number for two permits", NULL, "numbers 10 2 value=1", "V8", ""},
    {"three numbers for two permits", NULL, "numbers 10 2 value=7", "V8", ""},
    {"a number beyond the limit", NULL, "numbers 10 2 value=9", "V8", ""},
    {"several paths", SEVERAL, "", NULL,
     "several.grants=1 several.wait=9 lock.grants=2 lock.wait=28"},
    {"another at the second", SEVERAL, "grant 11 5 ms=19", "V1", ""},
    {"another at the first", SEVERAL, "grant 12 4 ms=19", "V1", ""},
    {"another at the second, which is promised", SEVERAL,
     "grant 11 5 ms=29; release 10 1 kind=kill", "V2", ""},
    {"another at the first, which is promised", SEVERAL,
     "grant 12 4 ms=29; release 10 1 kind=kill", "V2", ""},
    {"a part of them", SEVERAL, "-part 10 1; -write 10 2; write 11 5 value=1", "V8", ""},
    {"killed before it said its parts, which are promised", NULL, "-release 10 1; +21 0 10 kill", "V2", ""},
    {"killed with a part, where somebody was before", SEVERAL,
     "+41 0 10 want several@3; +42 0 10 grant 900 8; +42.1 0 10 owner 100 8; +43 0 10 kill", NULL, ""},
    {"a token that falls at the second", SEVERAL,
     "part 10 1 value=6; write 10 2 kind=refused; write 11 5 value=1", "V3", ""},
    {"a lost write at the second", SEVERAL, "write 11 5 value=1", "V4", ""},
    {"a stale write at the second", SEVERAL, "+35 0 10 write 3 2", "V4", ""},
    {"a third party at the second", SEVERAL, "+13 -1 0 delete 100 2; grant 11 5 ms=19", NULL, ""},
    {"which is none at the first", NULL, "grant 12 4 ms=19", "V1", ""},
    {"lost before the deadline for want of the second", NULL,
     "grant 12 4 ms=23; -release 10 1; +21 0 10 told 0 1; +21 0 10 lost 0 1", NULL, ""},
    /* runs */
    {"runs", RUNS, "", NULL,
     "completed=3 given_up=1 failed=0 unknown=1 recorded=4 missed=1 successions=1 once.grants=6 once.wait=1530"},
    {"an unknown one that is not recorded", NULL, "-run 11 6", NULL, "recorded=3"},
    {"a lost one", NULL, "ended 12 6 value=-3", NULL, "failed=1 unknown=0"},
    {"a lost one that is recorded", RUNS, "ended 12 6 value=-3", "V10", ""},
    {"one given up that is recorded", RUNS, "ended 12 4 value=1", "V10", ""},
    {"a completed one that is not recorded", RUNS, "-run 11 4", "V10", "missed=2"},
    {"two for one instant", RUNS, "run 11 6 turn=9005 value=901", "V10", ""},
    {"an instant between", RUNS, "run 11 6 turn=11006 value=2695", "V10", ""},
    {"begun before it is due", RUNS, "run 11 6 value=2901", "V10", ""},
    {"begun when it is due", RUNS, "run 11 6 value=2900", NULL, ""},
    {"begun when the next one is due", RUNS, "run 11 6 value=900", "V10", ""},
    {"begun just before that", RUNS, "run 11 6 value=901", NULL, ""},
    {"spared though one is due", RUNS, "+4150 1 11 want once@1 9; +6099 1 11 spared 0 9", "V10", ""},
    {"asked before that", NULL, "want 11 9 ms=4149", NULL, ""},
    {"answered after that", NULL, "want 11 9 ms=4150; spared 11 9 ms=6100", NULL, ""},
    {"spared by the run before", RUNS,
     "+4180 2 12 want once@1; +4220 2 12 spared; ended 11 2 ms=4200", NULL, ""},
    {"whose end nobody knows", NULL, "ended 11 2 ms=3200 value=-24", NULL, "unknown=2"},
};

/* 11 writes 1; 12 reads, is stopped, and 13 writes 2, so that 12 is refused and comes again; 14 is
 * killed before it has written and 15, who writes 4 instead, when it has; 16 is killed behind that
 * before it has written 5; 17 has no time left, and 18 writes 5, as the last. */
#define NUMBER                                                                                     \
    "100 0 11 begin 0 1; 110 0 11 write 1 1; 120 0 12 begin 1 2; 130 0 13 begin 1 3;"              \
    "140 0 13 write 2 3; 150 0 12 begin 2 4; 160 0 12 write 3 4; 170 0 14 begin 3 5;"              \
    "180 0 15 begin 3 6; 190 0 16 begin 4 7; 200 0 17 read 4 8; 210 0 17 go 4 8; 220 0 17 skip 4 8;" \
    "230 0 18 read 4 9; 240 0 18 go 4 9; 250 0 18 write 5 9; 300 0 14 kill; 300 0 15 kill;"        \
    "300 0 16 kill; =number 5; =token 9;"

static const struct row numbers[] = {
    {"good", NUMBER, "", NULL, "increments=4 kept=1 lost=0 stale=0 made_up=0 refused=1 written_turns=0"},
    {"nothing", "", "", NULL, "increments=0 kept=0"},
    {"processes' records in any order", NUMBER, "write 11 1 ms=260", NULL, "increments=4 kept=1"},
    {"the killed ones' too", NUMBER, "begin 15 6 ms=165", NULL, "increments=4 kept=1"},
    {"meant by one killed, and not written", NUMBER, "+260 0 14 go 5 10", NULL, "increments=4 kept=1"},
    {"and written", NULL, "=number 6; =token 10", NULL, "increments=4 kept=2"},
    {"told something after it was meant", NULL, "+261 0 14 suspect 0 10", NULL, "kept=2"},
    {"a lost increment", NUMBER, "+145 0 12 write 2 3", "V4", "increments=5 kept=1 lost=1 stale=0 made_up=0"},
    {"a number set back", NUMBER, "=number 3", "V4", "increments=4 kept=0 lost=1 stale=0 made_up=0"},
    {"a stale write", NUMBER, "+145 0 12 write 2 2", "V4", "increments=5 kept=1 lost=1 stale=1 made_up=0"},
    {"a write below a read", NUMBER, "write 13 3 token=2", "V4", "increments=4 kept=1 lost=0 stale=1 made_up=0"},
    {"a stale read", NUMBER, "begin 16 7 token=3", "V4", "increments=4 kept=1 lost=0 stale=1 made_up=0"},
    {"a stale last write", NUMBER, "=token 8", "V4", "increments=4 kept=1 lost=0 stale=1 made_up=0"},
    {"what nobody wrote", NUMBER, "=number 6", "V4", "increments=4 kept=1 lost=0 stale=0 made_up=1"},
    {"what a living process did not record", NUMBER, "-kill 14 0; -kill 15 0", "V4",
     "increments=4 kept=0 lost=0 stale=0 made_up=1"},
    {"the intention of another", NUMBER, "begin 14 5 pid=15", NULL, "kept=1"},
    {"an intention given up", NULL, "begin 16 7 pid=15", "V4", "increments=4 kept=0 made_up=1"},
    {"only read by one of two", NUMBER, "begin 15 6 kind=read", NULL, "kept=1"},
    {"only read", NULL, "begin 14 5 kind=read", "V4", "kept=0 lost=0 stale=0 made_up=1"},
    {"refused, while another writes", NUMBER, "+155 0 13 write 4 4", "V4", "refused=1"},
    {"refused, and its next is its last", NULL, "-write 12 4", "V4", "refused=1"},
    {"refused twice", NULL, "+195 0 12 begin 4 9", "V4", "refused=2"},
    {"later turns, then others", NUMBER, "begin 11 1 turn=3; write 11 1 turn=3", NULL, "kept=1 written_turns=1"},
    {"and a turn as the last", NULL, "read 18 9 turn=1; go 18 9 turn=1; write 18 9 turn=1; =turn 1", NULL, "written_turns=2"},
    {"a stale turn", NUMBER, "write 18 9 turn=2; =turn 2; +260 0 19 begin 5 9 1", "V4", "stale=1 lost=0 made_up=0 written_turns=1"},
    {"the same turn", NULL, "begin 19 9 turn=2", NULL, "stale=0"},
    {"a stale turn as the last", NULL, "=turn 1", "V4", "stale=1 lost=0 made_up=0"},
    {"found what is no number of writes", NUMBER, "begin 11 1 value=-1", "V4", "lost=1"},
};

/* w1 holds while three try to unlock its lock, w2 is killed while it holds, w3 is cut off. */
#define DEMO                                                                                       \
    "1 0 10 want; 2 1 11 want; 3 2 12 want; 10 0 10 grant 3000 1; 12 0 10 hold 0 1;"               \
    "20 0 10 denied -6; 21 1 11 denied -6; 22 2 12 denied -6; 25 0 10 intact 0 1;"                 \
    "30 0 10 write 1 1; 31 0 10 seen 2979 1; 31 0 10 release 0 1; 32 1 11 grant 3000 2;"           \
    "33 0 10 want 0 1; 34 1 11 hold 0 2; 40 1 11 kill; 41 1 11 dead 9; 50 1 21 want;"              \
    "4000 2 12 grant 3000 3; 4010 2 12 write 2 3; 4011 2 12 seen 2989 3; 4011 2 12 release 0 3;"   \
    "4012 2 12 want 0 3; 4020 0 10 grant 3000 4; 4025 0 10 write 3 4; 4030 0 10 seen 2990 4;"      \
    "4030 0 10 release 0 4; 4032 1 21 grant 3000 5; 4040 1 21 write 4 5; 4041 1 21 seen 2991 5;"   \
    "4041 1 21 release 0 5; 4042 1 21 want 0 5; 4050 2 12 grant 3000 6; 4055 2 12 hold 0 6;"       \
    "4060 2 12 cut; 4560 2 12 seen 2940 6; 6500 2 12 suspect 0 6; 7499 2 12 seen 1 6;"             \
    "7500 2 12 told 0 6; 7501 2 12 lost 0 6; 7502 2 12 elost 0 6; 7503 2 12 want 0 6;"             \
    "8100 1 21 grant 3000 7; 8110 1 21 write 5 7; 8111 1 21 seen 2989 7; 8111 1 21 release 0 7;"   \
    "8500 2 12 thaw; 8600 2 12 grant 3000 8; 8610 2 12 write 6 8; 8611 2 12 seen 2989 8;"          \
    "8611 2 12 release 0 8; =number 6; =token 8;"

static const struct row demos[] = {
    {"good", DEMO, "", NULL, "grants=8 increments=6 lost=0 overlaps=0 falls=0"},
    {"overlap", DEMO, "grant 10 4 ms=4005", "V1 ", "overlaps=1"},
    {"stood still from its deadline to after another's grant", DEMO,
     "told 12 6 ms=8104; lost 12 6 ms=8105; elost 12 6 ms=8106; want 12 6 ms=8106", NULL,
     "grants=8 overlaps=0"},
    {"saw itself own after another's grant", DEMO,
     "+8101 2 12 seen 4 6; told 12 6 ms=8104; lost 12 6 ms=8105; elost 12 6 ms=8106;"
     "want 12 6 ms=8106", "V1 ", "overlaps=1"},
    {"a grant before another's deadline", DEMO, "+7490 2 12 seen 611 6", "V2 ", "overlaps=0"},
    {"killed, and seen to own after another's grant", DEMO, "+4001 1 11 seen 1 2", "V1 ", "overlaps=1"},
    {"a killed one's deadline", DEMO, "grant 11 2 value=3969", "V2 ", "overlaps=0"},
    {"unsafe, at work after another's grant", DEMO, "=unsafe 1; lost 12 6 ms=8105", "V1 ", "overlaps=1"},
    {"unsafe, killed after another's grant", DEMO, "=unsafe 1; dead 11 0 ms=4005", "V1 ", "overlaps=1"},
    {"lost in the file", DEMO, "=number 5", "V4 ", "lost=1"},
    {"too many in the file", DEMO, "=number 7", "V4 ", ""},
    {"a stale last write", DEMO, "=token 7", "V4 ", "lost=0"},
    {"an unreadable file", DEMO, "=number -1", "V4 ", "lost=6"},
    {"lost in the history", DEMO, "write 10 4 value=2", "V4 ", "lost=1"},
    {"a token again", DEMO, "grant 21 5 token=4", "V3 ", "falls=1"},
    {"a token that falls", DEMO, "grant 21 5 token=3", "V3 ", "falls=1"},
    {"no kill", DEMO, "-kill 11 0", "no worker was killed", ""},
    {"killed before it held", DEMO, "kill 11 0 ms=5", "but not while it held", ""},
    {"killed after it held", DEMO, "+36 1 11 release 0 2", "but not while it held", ""},
    {"a release by another process", DEMO, "+36 1 99 release 0 2", "the history makes sense", ""},
    {"no cut", DEMO, "-cut 12 0", "no worker was cut off", ""},
    {"cut before it held", DEMO, "cut 12 0 ms=4045", "cut off, but not while it held", ""},
    {"no end of the cut", DEMO, "-thaw 12 0", "did not take part again", ""},
    {"never lost", DEMO, "lost 12 6 kind=release", "never told that it had lost", ""},
    {"never told", DEMO, "-told 12 6", "V7 ", ""},
    {"wrote after it had stopped", DEMO, "+7600 2 12 write 5 6", "V4 ", ""},
    {"wrote after the cut", DEMO, "+7000 2 12 write 5 6", "wrote after it was cut off", ""},
    {"wrote twice", DEMO, "+4026 0 10 write 7 4; =number 7", "written under more than once", ""},
    {"an unlock allowed", DEMO, "denied 11 0 kind=allowed", "1 of 3 foreign unlocks were not refused", ""},
    {"no unlock by a thread", DEMO, "-denied 10 0", "no second thread", ""},
    {"no unlock by a process", DEMO, "-denied 12 0; -denied 11 0", "no other process", ""},
    {"a holder that did not stay it", DEMO, "intact 10 1 kind=broken", "untouched", ""},
    {"no unlock", DEMO, "-denied 10 0; -denied 11 0; -denied 12 0", "nobody tried", ""},
    {"an increment not made", DEMO, "-write 12 8; =number 5", "5 of 6 increments were made", ""},
    {"a grant without an end", DEMO, "-release 12 8", "the history makes sense", ""},
    {"a call that failed", DEMO, "+9000 0 10 error -3", "no call failed", ""},
    {"ended badly", DEMO, "+9000 0 10 dead 256", "the history makes sense", ""},
    {"a worker that is not there", DEMO, "+9000 7 99 grant 0 9", "the history makes sense", ""},
    {"a garbled line", DEMO, "=garbled 1", "the history makes sense", ""},
    {"nothing", "", "", "V5 ", ""},
};

#define GUINT(name, member) {name, offsetof(judgement, member), 0}
#define NS(name, member) {name, offsetof(judgement, member), 1e6}
#define KIND(name, kind) GUINT(name ".grants", of[kind].grants), NS(name ".wait", of[kind].longest_wait)

/* How a figure is called here, where it is, and in what it is divided; 0: it is a guint. */
static const struct {
    const char *name;
    size_t at;
    double of;
} figures[] = {
    GUINT("grants", grants), GUINT("losses", losses), GUINT("kills", kills), GUINT("refused", refused),
    GUINT("third_party", third_party), GUINT("overlaps", overlaps), GUINT("falls", falls),
    GUINT("successions", successions), GUINT("slow_successions", slow_successions),
    GUINT("kept", kept), GUINT("turns", turns), GUINT("slow_unused", slow_unused),
    GUINT("readers", readers), GUINT("permits", permits), GUINT("sessions", sessions),
    NS("longest_wait", longest_wait), NS("worst_succession", worst_succession),
    NS("longest_unused", longest_unused), NS("latest_told", latest_told),
    KIND("lock", CLAIM_LOCK), KIND("several", CLAIM_SEVERAL), KIND("read", CLAIM_READ),
    KIND("write", CLAIM_WRITE), KIND("numbered", CLAIM_NUMBERED), KIND("once", CLAIM_ONCE),
    GUINT("increments", number.increments), GUINT("lost", number.lost), GUINT("stale", number.stale),
    GUINT("completed", runs.completed), GUINT("given_up", runs.given_up), GUINT("failed", runs.failed),
    GUINT("unknown", runs.unknown), GUINT("recorded", runs.recorded), GUINT("missed", runs.missed),
    GUINT("made_up", number.made_up), GUINT("written_turns", number.turns),
};
/* clang-format on */

static double figure(const judgement *j, const char *name)
{
    if (strcmp(name, "unused_share") == 0)
        return j->unused_share;
    for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
        const char *at = (const char *)j + figures[i].at;

        if (strcmp(figures[i].name, name) == 0)
            return figures[i].of > 0 ? (double)*(const int64_t *)(const void *)at / figures[i].of
                                     : *(const guint *)(const void *)at;
    }
    runner_fail_fatal(__FILE__, __LINE__, name);
}

static void expect_figures(const struct row *row, const judgement *j)
{
    char **each = g_strsplit(row->figures, " ", -1);

    for (char **one = each; *one; one++) {
        char **pair = g_strsplit(*one, "=", 2);
        const double is = figure(j, pair[0]), wanted = g_ascii_strtod(pair[1], NULL);

        if (ABS(is - wanted) > 1e-6)
            runner_fail(__FILE__, __LINE__, "%s: %s, but it is %g", row->name, *one, is);
        g_strfreev(pair);
    }
    g_strfreev(each);
}

/* ---- the judges ---- */

static judgement *hear_paths(void)
{
    const judge_input in = {.events = trial.events,
                            .workers = 16,
                            .paths = 2,
                            .look = true,
                            .nodes_left = trial.nodes_left,
                            .garbled = trial.garbled,
                            .service_ns = trial.service_ns,
                            .idle_ns = trial.idle_ns};

    return judge(&in);
}

/* It is rejected for that verdict and no other. */
static void play_paths(const struct row *row)
{
    judgement *j = hear_paths();

    if (judgement_passes(j) != (row->expected == NULL))
        runner_fail(__FILE__, __LINE__, "%s: %s", row->name,
                    row->expected ? "accepted" : "rejected");
    for (guint i = 0; i < j->violations->len; i++) {
        const violation *v = &g_array_index(j->violations, violation, i);

        if (!row->expected || v->number != atoi(row->expected + 1))
            runner_fail(__FILE__, __LINE__, "%s: V%d: %s", row->name, v->number, v->text);
    }
    expect_figures(row, j);
    judgement_free(j);
}

static void play_number(const struct row *row)
{
    judgement j = {.number = {1, 1, 1, 1, 1, 1}}; /* of something else */

    judge_register(trial.events, &trial.end, &j.number);
    for (guint i = 0; i < trial.events->len; i++)
        j.refused += register_refused(trial.events, i);
    j.kept = j.number.kept;
    if ((j.number.lost + j.number.stale + j.number.made_up > 0) != (row->expected != NULL))
        runner_fail(__FILE__, __LINE__, "%s: %s", row->name,
                    row->expected ? "accepted" : "rejected");
    expect_figures(row, &j);
}

static verdict *hear_demo(void)
{
    const verdict_input in = {.events = trial.events,
                              .end = trial.end,
                              .garbled = trial.garbled,
                              .unsafe = trial.unsafe,
                              .workers = 3,
                              .increments = 2};

    return verdict_new(&in);
}

static void play_demo(const struct row *row)
{
    verdict *v = hear_demo();
    bool said = false;

    for (guint i = 0; i < v->reasons->len; i++)
        said = said || strstr(v->reasons->pdata[i], row->expected ? row->expected : "");
    if (v->pass != (row->expected == NULL) || said != (row->expected != NULL))
        runner_fail(__FILE__, __LINE__, "%s: %s", row->name,
                    said ? "rejected" : "not rejected for that");
    expect_figures(row, v->j);
    verdict_free(v);
}

static void play_all(const struct row *row, size_t count, void (*play)(const struct row *))
{
    for (; count > 0; row++, count--) {
        if (row->history)
            trial_begin(row->history);
        trial_change(row->changes);
        play(row);
    }
}

TEST_CASE(paths)
{
    play_all(paths, G_N_ELEMENTS(paths), play_paths);
}

TEST_CASE(numbers)
{
    play_all(numbers, G_N_ELEMENTS(numbers), play_number);
}

TEST_CASE(demo)
{
    play_all(demos, G_N_ELEMENTS(demos), play_demo);
}

/* What it draws and prints of the good one. */
TEST_CASE(demo_figures)
{
    verdict *v;

    trial_begin(DEMO);
    v = hear_demo();
    CHECK_INT(v->foreign.refused, 3);
    CHECK_INT(v->foreign.by_thread, 1);
    CHECK_INT(v->foreign.by_process, 2);
    CHECK_INT(v->kill.next, ns_of("4000"));
    CHECK_INT(v->cut.suspect, ns_of("6500"));
    CHECK_INT(v->cut.lost, ns_of("7501"));
    CHECK_INT(v->cut.next, ns_of("8100"));
    CHECK_INT(v->cut.back, ns_of("8600"));
    CHECK_INT(v->stats[1].longest_wait, ns_of("4058"));
    verdict_free(v);
}

/* ---- V9: pid 11 had one grant, and pid 20 two, of which it lost one ---- */

static void begin_counts(void)
{
    static const int64_t grants[] = {1, 2}, deleted[] = {0, 1};

    trial_begin(GOOD);
    trial_change("told 20 6 value=3");
    for (int i = 0; i < 2; i++) {
        for (int of = 0; of < COUNTED; of++) {
            const bool is_grants = of == COUNTED_GRANTS || of >= COUNTED_WAITS;
            const int64_t count = is_grants ? grants[i] : of == ZKL_LOSS_DELETED ? deleted[i] : 0;
            char *one = g_strdup_printf("+8000 %d %d counted %d %d", 1 - i, i == 0 ? 11 : 20,
                                        (int)count, of);

            trial_change(one);
            g_free(one);
        }
    }
}

TEST_CASE(accepts_counts)
{
    const struct row right = {"right counts", NULL, "", NULL, "sessions=2"};
    judgement *j;

    begin_counts();
    play_paths(&right);
    j = hear_paths();
    CHECK_INT(j->counted[COUNTED_GRANTS], 3);
    CHECK_INT(j->recorded[COUNTED_GRANTS], 3);
    CHECK_INT(j->counted[ZKL_LOSS_DELETED], 1);
    CHECK_INT(j->recorded[ZKL_LOSS_DELETED], 1);
    judgement_free(j);
}

static void expect_wrong_counts(const char *changes)
{
    const struct row wrong = {changes, NULL, changes, "V9", ""};

    begin_counts();
    play_all(&wrong, 1, play_paths);
}

TEST_CASE(rejects_wrong_counts)
{
    for (int of = 0; of < COUNTED; of++) {
        const int is = of == COUNTED_GRANTS || of >= COUNTED_WAITS ? 2 : of == ZKL_LOSS_DELETED;

        for (int by = -1; by <= 1; by += 2) {
            char *other = g_strdup_printf("counted 20 %d value=%d", of, is + by);

            expect_wrong_counts(other);
            g_free(other);
        }
    }
    expect_wrong_counts("-counted 20 9");
    expect_wrong_counts("told 20 6 value=2");                          /* another kind of loss */
    expect_wrong_counts("counted 20 0 value=1; counted 11 0 value=2"); /* the sums are right */
}

/* ---- the record ---- */

/* What a worker records is what is read, half a line is left for later, junk is noticed. */
TEST_CASE(recorded)
{
    static const char *const junk[] = {
        "\n",
        "12 0 1 dance 0 17 2\n",
        "12 0 1 grant 0 17\n",
        "12 0 1 grant 0 17 2 zkl 1\n",
        "12 0 1 grant 0 x 2 zkl\n",
        "12 0 1 grant 0 17. 2 zkl\n",
        "12 0 1 grant 0 17 2 a-kind-of-16-letters\n",
    };
    char *dir = g_dir_make_tmp("zkl-history-XXXXXX", NULL), *file;
    history *r = history_new(dir);
    int fd = history_open(dir, "w1");
    bool ok;

    REQUIRE(fd >= 0);
    history_add(fd, 3, 44, EV_WRITE, -5, UINT64_MAX);
    REQUIRE(write(fd, "12 0 1 gra", 10) == 10);
    history_poll(r, &ok);
    CHECK(ok);
    REQUIRE(r->events->len == 1);
    CHECK_INT(g_array_index(r->events, event, 0).worker, 3);
    CHECK_INT(g_array_index(r->events, event, 0).pid, 44);
    CHECK_INT(g_array_index(r->events, event, 0).kind, EV_WRITE);
    CHECK_INT(g_array_index(r->events, event, 0).value, -5);
    CHECK(g_array_index(r->events, event, 0).token == UINT64_MAX);
    REQUIRE(write(fd, "nt 0 17 2\n", 10) == 10);
    CHECK_INT(history_poll(r, &ok), 1);
    CHECK(ok && r->events->len == 2);
    CHECK_INT(g_array_index(r->events, event, 0).turn, 0);
    CHECK_INT(g_array_index(r->events, event, 1).turn, 2);
    REQUIRE(write(fd, "12 0 1 grant 0 17 2 zkl-retain\n", 31) == 31);
    history_poll(r, &ok);
    CHECK(ok && r->events->len == 3);
    for (size_t i = 0; i < G_N_ELEMENTS(junk); i++) {
        REQUIRE(write(fd, junk[i], strlen(junk[i])) == (ssize_t)strlen(junk[i]));
        history_poll(r, &ok);
        CHECK(!ok && r->events->len == 3);
    }
    close(fd);
    file = g_build_filename(dir, "w1.history", NULL);
    g_remove(file);
    g_rmdir(dir);
    g_free(file);
    g_free(dir);
    history_free(r);
}

int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
