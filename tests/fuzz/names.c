/* Names of children. The input: an id's length, the number for the round trip, and a name. */
#include "targets.h"

#include "input.h"
#include "recipes/name.h"
#include "runner.h"

enum { ID_MAX = 40 };

/* Word, then "%010d" as the server prints it: ten characters, or a sign and ten digits. */
static enum child_kind oracle(const char *name, size_t length, int32_t *ret)
{
    static GRegex *regex;
    GMatchInfo *match;
    gint64 number = 0;
    bool latch = false;

    if (!regex)
        regex = g_regex_new("(lock-|__lock__|latch-)(-[0-9]{10}|-[0-9]{9}|[0-9]{10})\\z",
                            G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);
    bool found = g_regex_match_full(regex, name, (gssize)length, 0, 0, &match, NULL);
    if (found) {
        char *word = g_match_info_fetch(match, 1), *digits = g_match_info_fetch(match, 2);
        latch = g_str_equal(word, "latch-");
        number = g_ascii_strtoll(digits, NULL, 10);
        g_free(digits);
        g_free(word);
    }
    g_match_info_free(match);
    *ret = (int32_t)number;
    if (!found || number < G_MININT32 || number > G_MAXINT32)
        return CHILD_FOREIGN;
    return latch ? CHILD_LATCH : CHILD_LOCK;
}

static void check_parse(const char *name, size_t length)
{
    struct child out = {.id = 41, .kind = CHILD_LOCK, .number = -77, .own = true, .old = true};
    int32_t number;
    enum child_kind kind = oracle(name, length, &number);

    name_parse(name, length, &out);
    CHECK_INT(out.kind, kind);
    CHECK_INT(out.number, kind == CHILD_FOREIGN ? 0 : number);
    CHECK(out.id == 41 && out.own && out.old);
}

/* What the server makes of our prefix is read back as what it is. */
static void check_round_trip(const char *id, size_t id_length, int32_t number)
{
    GString *name = g_string_new("_c_");
    struct child out;

    g_string_append_len(name, id, (gssize)id_length);
    g_string_append_printf(name, "-lock-%010d", number);
    name_parse(name->str, name->len, &out);
    CHECK_INT(out.kind, CHILD_LOCK);
    CHECK_INT(out.number, number);
    CHECK(name_has_id(name->str, name->len, id, id_length));
    name->str[3 + id_length] = '_';
    CHECK(!name_has_id(name->str, name->len, id, id_length));
    g_string_free(name, TRUE);
}

static void check_id(const char *name, size_t length, const char *id, size_t id_length)
{
    GString *begin = g_string_new("_c_");

    g_string_append_len(begin, id, (gssize)id_length);
    g_string_append_c(begin, '-');
    bool has = length >= begin->len && memcmp(name, begin->str, begin->len) == 0;
    CHECK_INT(name_has_id(name, length, id, id_length), has);
    g_string_free(begin, TRUE);
}

void fuzz_names(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    size_t id_length = input_byte(&in) % ID_MAX;
    int32_t number = (int32_t)input_number(&in, 4);
    char *name = in.size ? g_memdup2(in.data, in.size) : g_malloc0(1); /* ends where it ends */
    char id[ID_MAX] = "";

    for (size_t i = 0; i < id_length && i + 3 < in.size; i++)
        id[i] = name[i + 3];
    check_parse(name, in.size);
    check_id(name, in.size, id, id_length);
    check_round_trip(id, id_length, number);
    g_free(name);
}
