/* Names of children. The input: an id's length, the number for the round trip, and a name. */
#include "targets.h"

#include "input.h"
#include "recipes/name.h"
#include "runner.h"

#include <errno.h>

enum { ID_MAX = 40 };

/* What may stand before the number; the digits are "%010d" as the server prints it: ten characters,
 * or a sign and ten digits. */
static const struct {
    const char *pattern;
    enum child_kind kind;
} forms[] = {
    {"lock-", CHILD_LOCK},
    {"__lock__", CHILD_KAZOO},
    {"latch-", CHILD_LATCH},
    {"__READ__", CHILD_READ},
    {"__rlock__", CHILD_KAZOO_READ},
    {"__WRIT__", CHILD_WRITE},
    {"lease-", CHILD_LEASE},
    {"\\Aex", CHILD_RUBY},
    {"\\Ash", CHILD_RUBY_SHARED},
    {"\\Ax-[0-9a-f]{16}-", CHILD_APACHE},
    {"\\Ax--?[0-9]+-", CHILD_APACHE},
};

enum { FORMS = G_N_ELEMENTS(forms), DECIMAL = FORMS - 1 };

static GRegex *compile(const char *begin)
{
    char *pattern = g_strconcat(begin, "(-[0-9]{10}|-[0-9]{9}|[0-9]{10})\\z", NULL);
    GRegex *regex = g_regex_new(pattern, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);

    g_free(pattern);
    return regex;
}

/* G_MAXINT64: it has not that form. */
static gint64 number_of(int form, const char *name, size_t length)
{
    static GRegex *regexes[FORMS];
    GMatchInfo *match;
    gint64 number = G_MAXINT64;

    if (!regexes[form])
        regexes[form] = compile(forms[form].pattern);
    if (g_regex_match_full(regexes[form], name, (gssize)length, 0, 0, &match, NULL)) {
        char *digits = g_match_info_fetch(match, 1);
        number = g_ascii_strtoll(digits, NULL, 10);
        g_free(digits);
    }
    g_match_info_free(match);
    return number;
}

/* Whether the session in a name of the form DECIMAL fits into 64 bits. */
static bool has_session_of_64_bits(const char *name, size_t length)
{
    char *text = g_strndup(name, length);

    errno = 0;
    g_ascii_strtoll(text + 2, NULL, 10);
    g_free(text);
    return errno != ERANGE;
}

/* No name has two of the forms, with a number that counts in each, but where both mean the same. */
static enum child_kind oracle_of_kind(const char *name, size_t length, int32_t *ret)
{
    for (int i = 0; i < FORMS; i++) {
        gint64 number = number_of(i, name, length);
        if (number < G_MININT32 || number > G_MAXINT32)
            continue;
        if (i == DECIMAL && !has_session_of_64_bits(name, length))
            continue;
        *ret = (int32_t)number;
        return forms[i].kind;
    }
    return CHILD_FOREIGN;
}

static bool matches(GRegex **regex, const char *pattern, const char *name, size_t length)
{
    if (!*regex)
        *regex = g_regex_new(pattern, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);
    return g_regex_match_full(*regex, name, (gssize)length, 0, 0, NULL, NULL);
}

#define OUR_UUID "_c_[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}-"
#define OUR_HEX "[0-9a-f]{12}8[0-9a-f]{19}"

/* Whether only zkl writes such a name, but not this version. */
static bool is_of_later_version(const char *name, size_t length, enum child_kind kind)
{
    static GRegex *ours, *party, *marked, *known;

    if (!matches(&ours, "\\A(?:" OUR_UUID "|" OUR_HEX "__)", name, length) ||
        matches(&party, "\\A" OUR_HEX "__party__\\z", name, length))
        return false;
    return kind == CHILD_FOREIGN ||
           matches(&marked, "\\A(?:_c_.{8}-.{4}-8|[0-9a-f]{12}8)e7[^a]", name, length) ||
           !matches(&known,
                    "\\A(?:" OUR_UUID "(?:(?:p[0-9]{3}-)?(?:lock-|latch-|__(?:READ|WRIT|r?lock)__)|"
                    "(?:[ns][0-9]+-)?lease-)|" OUR_HEX "__(?:READ|WRIT|r?lock)__)[-0-9]+\\z",
                    name, length);
}

/* The number at the end of a name whose word is not known. */
static int32_t last_number(const char *name, size_t length)
{
    static GRegex *regexes[2];
    static const char *const patterns[] = {"(?:[0-9]{10}|-[0-9]{9})\\z", "-[0-9]{10}\\z"};

    for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
        if (!matches(&regexes[i], patterns[i], name, length))
            continue;
        char *digits = g_strndup(name + length - 10 - i, 10 + i);
        const gint64 number = g_ascii_strtoll(digits, NULL, 10);
        g_free(digits);
        if (number >= G_MININT32 && number <= G_MAXINT32)
            return (int32_t)number;
    }
    return 0;
}

static enum child_kind oracle(const char *name, size_t length, int32_t *ret)
{
    const enum child_kind kind = oracle_of_kind(name, length, ret);

    if (!is_of_later_version(name, length, kind))
        return kind;
    *ret = last_number(name, length);
    return CHILD_LATER;
}

static bool says_that_it_retains(const char *name, size_t length)
{
    static GRegex *regex;

    return matches(&regex,
                   "\\A(?:_c_[0-9a-f]{8}-[0-9a-f]{4}-8e7a-[0-9a-f]{4}-[0-9a-f]{12}|"
                   "[0-9a-f]{12}8e7a[0-9a-f]{16})(?![0-9a-f])",
                   name, length);
}

static void check_parse(const char *name, size_t length)
{
    struct child out = {.id = 41, .kind = CHILD_LOCK, .number = -77, .own = true, .old = true};
    int32_t number = 0;
    enum child_kind kind = oracle(name, length, &number);

    name_parse(name, length, &out);
    CHECK_INT(out.kind, kind);
    CHECK_INT(out.number, kind == CHILD_FOREIGN ? 0 : number);
    CHECK(out.id == 41 && out.own && out.old);
    CHECK_INT(out.retains,
              kind != CHILD_FOREIGN && kind != CHILD_LATER && says_that_it_retains(name, length));
}

/* What the server makes of our prefix is read back as what it is, in both styles, if the id is none
 * with a mark of a later version. */
static void check_round_trip(const char *id, size_t id_length, int32_t number)
{
    static const struct {
        const char *before, *behind;
        size_t at;
        enum child_kind kind;
    } styles[] = {{"_c_", "-lock-", 3, CHILD_LOCK}, {"", "__lock__", 0, CHILD_KAZOO}};
    struct child out;

    for (size_t i = 0; i < G_N_ELEMENTS(styles); i++) {
        GString *name = g_string_new(styles[i].before);
        g_string_append_len(name, id, (gssize)id_length);
        g_string_append_printf(name, "%s%010d", styles[i].behind, number);
        name_parse(name->str, name->len, &out);
        const bool later = is_of_later_version(name->str, name->len, styles[i].kind);
        CHECK_INT(out.kind, later ? CHILD_LATER : styles[i].kind);
        CHECK_INT(out.number, number);
        CHECK(name_has_id(name->str, name->len, id, id_length));
        name->str[styles[i].at + id_length] = '~';
        CHECK(!name_has_id(name->str, name->len, id, id_length));
        g_string_free(name, TRUE);
    }
}

static bool begins(const char *name, size_t length, const char *before, const char *id,
                   size_t id_length, const char *behind)
{
    GString *begin = g_string_new(before);

    g_string_append_len(begin, id, (gssize)id_length);
    g_string_append(begin, behind);
    bool does = length >= begin->len && memcmp(name, begin->str, begin->len) == 0;
    g_string_free(begin, TRUE);
    return does;
}

static void check_id(const char *name, size_t length, const char *id, size_t id_length)
{
    bool has = begins(name, length, "_c_", id, id_length, "-") ||
               begins(name, length, "", id, id_length, "__");

    CHECK_INT(name_has_id(name, length, id, id_length), has);
}

/* The first form that fits tells whose it is: our ids have an 8 where a random UUID has a 4. */
static void check_maker(const char *name, size_t length)
{
    static const struct {
        const char *pattern;
        enum name_maker maker;
    } rows[] = {
        {"\\A_c_[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])",
         MAKER_ZKL},
        {"\\A_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", MAKER_CURATOR},
        {"\\A_c_[0-9a-f]{32}(?![0-9a-f])", MAKER_GO},
        {"\\A[0-9a-f]{12}8[0-9a-f]{19}(?![0-9a-f])", MAKER_ZKL},
        {"\\A[0-9a-f]{32}(?![0-9a-f])", MAKER_KAZOO},
    };
    static GRegex *regexes[G_N_ELEMENTS(rows)];
    int32_t number;
    enum child_kind kind = oracle(name, length, &number);
    enum name_maker due = kind == CHILD_APACHE                              ? MAKER_APACHE
                          : kind == CHILD_RUBY || kind == CHILD_RUBY_SHARED ? MAKER_RUBY
                                                                            : MAKER_UNKNOWN;

    for (size_t i = 0; i < G_N_ELEMENTS(rows) && due == MAKER_UNKNOWN; i++) {
        if (matches(&regexes[i], rows[i].pattern, name, length))
            due = rows[i].maker;
    }
    CHECK_INT(name_maker(name, length), due);
}

void fuzz_names(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    size_t id_length = input_byte(&in) % ID_MAX;
    int32_t number = (int32_t)input_number(&in, 4);
    char *name = in.size ? g_memdup2(in.data, in.size) : g_malloc0(1); /* ends where it ends */
    char id[ID_MAX] = "";

    size_t at = number & 1 ? 3 : 0; /* behind a guard, or at the beginning */
    for (size_t i = 0; i < id_length && i + at < in.size; i++)
        id[i] = name[i + at];
    check_parse(name, in.size);
    check_id(name, in.size, id, id_length);
    check_maker(name, in.size);
    /* No id of ours has a '_', which begins both styles: "_c_" and the id "_c" look like "_c__". */
    g_strdelimit(id, "_", '-');
    check_round_trip(id, id_length, number);
    g_free(name);
}
