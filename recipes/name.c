#include "name.h"

#include <limits.h>
#include <string.h>

/* The server prints the number with "%010d": 10 characters, 11 for the lowest negative ones. */
enum { NUMBER_MIN = 10, NUMBER_MAX = 11 };

/* The lengths of "-p007-", of "_c_", of a UUID and of its digits alone, and where the UUID's
 * version stands in a name, with dashes and without. */
enum {
    PRIORITY_LENGTH = 6,
    GUARD = 3,
    UUID = 36,
    HEX = 32,
    GUARDED_VERSION = GUARD + 14,
    HEX_VERSION = 12
};

enum { SESSION_HEX = 16 };

/* A node's id, as zkl, Curator and kazoo write one: a UUID, where a name begins with one. */
struct name_id {
    bool guarded;   /* "_c_" is before it, as before a UUID with dashes */
    size_t version; /* the place of the UUID's version; 0: the name begins with no UUID */
};

/* Returns with how many digits of that base, 10 or 16, text begins. */
static size_t name_digits(const char *text, size_t length, int base)
{
    size_t n = 0;

    while (n < length &&
           ((text[n] >= '0' && text[n] <= '9') || (base == 16 && text[n] >= 'a' && text[n] <= 'f')))
        n++;
    return n;
}

static bool ends_with(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    return length >= n && memcmp(text + length - n, word, n) == 0;
}

/* The words that stand before the number, one for each kind. */
static const struct {
    const char *text;
    enum child_kind kind;
    bool whole; /* nothing is before the word */
} words[] = {
    {"lock-", CHILD_LOCK, false},           {"__lock__", CHILD_KAZOO, false},
    {"latch-", CHILD_LATCH, false},         {"__READ__", CHILD_READ, false},
    {"__rlock__", CHILD_KAZOO_READ, false}, {"__WRIT__", CHILD_WRITE, false},
    {"lease-", CHILD_LEASE, false},         {"ex", CHILD_RUBY, true},
    {"sh", CHILD_RUBY_SHARED, true},
};

enum { WORDS = sizeof words / sizeof *words };

/* Whether text is a signed number of 64 bits. At least one character of it can be read. */
static bool is_int64(const char *text, size_t length)
{
    const size_t sign = text[0] == '-';
    const uint64_t most = (uint64_t)INT64_MAX + sign;
    uint64_t value = 0;

    if (length == sign || name_digits(text + sign, length - sign, 10) < length - sign)
        return false;
    for (size_t i = sign; i < length; i++) {
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    return true;
}

/* Whether the name is of Apache's own recipes. They have the session's id in it: the one in Java as
 * a signed number, the one in C as 16 hexadecimal digits. "x-72057594037927936-",
 * "x-0100000000000000-". */
static bool is_apache(const char *name, size_t length)
{
    size_t id;

    if (length < 4 || memcmp(name, "x-", 2) != 0 || name[length - 1] != '-')
        return false;
    id = length - 3;
    return is_int64(name + 2, id) || (id == SESSION_HEX && name_digits(name + 2, id, 16) == id);
}

/* Returns the kind by the word in which name ends, and the length before the word. */
static enum child_kind kind_at_end(const char *name, size_t length, size_t *ret_before)
{
    for (size_t i = 0; i < WORDS; i++) {
        size_t before = length - strlen(words[i].text);
        if (ends_with(name, length, words[i].text) && (before == 0 || !words[i].whole)) {
            *ret_before = before;
            return words[i].kind;
        }
    }
    *ret_before = 0;
    return is_apache(name, length) ? CHILD_APACHE : CHILD_FOREIGN;
}

void name_write_number(char to[NAME_NUMBER_SIZE], int32_t number)
{
    const int width = number > -1000000000 ? NUMBER_MIN : NUMBER_MAX;
    int64_t rest = number < 0 ? -(int64_t)number : number;

    to[width] = '\0';
    for (int i = width - 1; i >= 0; i--, rest /= 10)
        to[i] = (char)('0' + rest % 10);
    if (number < 0)
        to[0] = '-';
}

/* Reads text, an optional '-' and digits. Returns false if it is no such number, or does not fit 32
 * bits. */
static bool name_read_number(const char *text, size_t length, int32_t *ret)
{
    const size_t negative = text[0] == '-';
    int64_t value = 0;

    if (name_digits(text + negative, length - negative, 10) < length - negative)
        return false;
    for (size_t i = negative; i < length; i++)
        value = value * 10 + (text[i] - '0');
    if (negative)
        value = -value;
    if (value > INT32_MAX || value < INT32_MIN)
        return false;
    *ret = (int32_t)value;
    return true;
}

/* Reads the kind and the number of a contender's name; *ret_before is the length before the
 * word. */
static enum child_kind name_read_kind(const char *name, size_t length, int32_t *ret_number,
                                      size_t *ret_before)
{
    enum child_kind kind;

    /* The longer form is tried first: in "lock--2147483648" the sign belongs to the number. */
    for (size_t n = NUMBER_MAX; n >= NUMBER_MIN; n--) {
        if (length < n || (n == NUMBER_MAX && name[length - n] != '-'))
            continue;
        kind = kind_at_end(name, length - n, ret_before);
        if (kind != CHILD_FOREIGN && name_read_number(name + length - n, n, ret_number))
            return kind;
    }
    return CHILD_FOREIGN;
}

/* Returns how many permits the name asks for. The word has "-n3-" before it for three permits,
 * "-s3-" if they are numbered, and nothing for one. A number that is too large counts as the
 * largest: it is safe for others to wait. */
static uint32_t read_permits(const char *name, size_t before, bool *ret_numbered)
{
    size_t end = before - 1, at = end;
    uint64_t permits = 0;

    *ret_numbered = false;
    if (before == 0 || name[end] != '-')
        return 1;
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    if (at < 2 || at == end || name[at - 2] != '-' || (name[at - 1] != 'n' && name[at - 1] != 's'))
        return 1;
    *ret_numbered = name[at - 1] == 's';
    for (; at < end && permits < INT32_MAX; at++)
        permits = permits * 10 + (uint64_t)(name[at] - '0');
    return permits == 0 ? 1 : permits > INT32_MAX ? INT32_MAX : (uint32_t)permits;
}

const char *name_word(enum child_kind kind)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (words[i].kind == kind)
            return words[i].text;
    }
    return "";
}

int name_priority(const char *name, size_t length)
{
    const char *at;
    int32_t number;
    size_t before;

    if (name_read_kind(name, length, &number, &before) == CHILD_FOREIGN || before < PRIORITY_LENGTH)
        return 0;
    at = name + before - PRIORITY_LENGTH;
    if (memcmp(at, "-p", 2) != 0 || at[PRIORITY_LENGTH - 1] != '-')
        return 0;
    if (at[2] == '-' || !name_read_number(at + 2, PRIORITY_LENGTH - 3, &number))
        return 0;
    return number;
}

static bool is_guarded(const char *name, size_t length)
{
    return length > GUARD && memcmp(name, "_c_", GUARD) == 0;
}

bool name_has_id(const char *name, size_t length, const char *id, size_t id_length)
{
    const bool guarded = length > id_length + GUARD && is_guarded(name, length) &&
                         memcmp(name + GUARD, id, id_length) == 0 && name[GUARD + id_length] == '-';

    return guarded || (length > id_length + 1 && memcmp(name, id, id_length) == 0 &&
                       memcmp(name + id_length, "__", 2) == 0);
}

/* Whether name begins with a UUID with dashes. */
static bool has_uuid(const char *name, size_t length)
{
    static const size_t groups[] = {8, 4, 4, 4, 12};
    size_t at = 0;

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (i > 0 && (at >= length || name[at++] != '-'))
            return false;
        if (name_digits(name + at, length - at, 16) != groups[i])
            return false;
        at += groups[i];
    }
    return true;
}

static struct name_id name_read_id(const char *name, size_t length)
{
    if (is_guarded(name, length))
        return (struct name_id){true, has_uuid(name + GUARD, length - GUARD) ? GUARDED_VERSION : 0};
    return (struct name_id){false, name_digits(name, length, 16) == HEX ? HEX_VERSION : 0};
}

/* Whether what follows the version of a UUID of ours begins with mark. */
static bool name_is_marked(const char *name, struct name_id id, const char *mark)
{
    return memcmp(name + id.version + 1, mark, strlen(mark)) == 0;
}

static enum name_maker maker_of(const char *name, size_t length, enum child_kind kind,
                                struct name_id id)
{
    if (kind == CHILD_APACHE)
        return MAKER_APACHE;
    if (kind == CHILD_RUBY || kind == CHILD_RUBY_SHARED)
        return MAKER_RUBY;
    if (id.version > 0 && name[id.version] == NAME_UUID_VERSION)
        return MAKER_ZKL;
    if (id.version > 0)
        return id.guarded ? MAKER_CURATOR : MAKER_KAZOO;
    return id.guarded && name_digits(name + GUARD, length - GUARD, 16) == HEX ? MAKER_GO
                                                                              : MAKER_UNKNOWN;
}

/* Returns the length of a name's part that only we write: "_c_<uuid>-" or "<32 digits>"; 0 if the
 * name may be another library's. */
static size_t name_own_form(const char *name, size_t length, struct name_id id)
{
    if (id.version == 0 || name[id.version] != NAME_UUID_VERSION)
        return 0;
    if (!id.guarded)
        return length > HEX + 1 && memcmp(name + HEX, "__", 2) == 0 ? HEX : 0;
    return length > GUARD + UUID && name[GUARD + UUID] == '-' ? GUARD + UUID + 1 : 0;
}

/* Whether this version of the library writes mark before the word of that kind. A lease has
 * nothing, "n3-" or "s3-" there. A contender of another kind has nothing or "p007-". */
static bool name_is_known_mark(const char *mark, size_t length, enum child_kind kind)
{
    if (length == 0)
        return true;
    if (length < 3 || mark[length - 1] != '-' || name_digits(mark + 1, length - 2, 10) < length - 2)
        return false;
    if (kind == CHILD_LEASE)
        return mark[0] == 'n' || mark[0] == 's';
    return mark[0] == 'p' && length == PRIORITY_LENGTH - 1;
}

/* Whether a later version wrote the name; kind and before are what name_read_kind() has found. */
static bool name_is_later(const char *name, size_t length, struct name_id id, enum child_kind kind,
                          size_t before)
{
    const size_t form = name_own_form(name, length, id);

    if (form == 0 ||
        (form == HEX && ends_with(name, length, NAME_PARTY) && length == HEX + strlen(NAME_PARTY)))
        return false;
    if (name_is_marked(name, id, NAME_UUID_MARKED) && !name_is_marked(name, id, NAME_UUID_RETAINS))
        return true;
    return kind == CHILD_FOREIGN || !name_is_known_mark(name + form, before - form, kind);
}

/* Returns the number at the end of a name whose word is not known; 0 if there is none. A dash
 * before ten digits is no sign: it may be the word's. */
static int32_t name_number_at_end(const char *name, size_t length)
{
    int32_t number;

    for (size_t n = NUMBER_MIN; n <= NUMBER_MAX && n <= length; n++) {
        if (name_read_number(name + length - n, n, &number))
            return number;
    }
    return 0;
}

void name_parse(const char *name, size_t length, struct child *out)
{
    const struct name_id id = name_read_id(name, length);
    int32_t number = 0;
    size_t before;

    out->kind = name_read_kind(name, length, &number, &before);
    if (name_is_later(name, length, id, out->kind, before)) {
        number = name_number_at_end(name, length);
        out->kind = CHILD_LATER;
    }
    const enum name_maker maker = maker_of(name, length, out->kind, id);
    out->rule = rule_of(out->kind, maker);
    out->number = out->kind == CHILD_FOREIGN ? 0 : number;
    out->permits = 0;
    out->numbered = false;
    if (out->kind == CHILD_LEASE)
        out->permits = read_permits(name, before, &out->numbered);
    out->retains = out->kind != CHILD_FOREIGN && out->kind != CHILD_LATER && maker == MAKER_ZKL &&
                   name_is_marked(name, id, NAME_UUID_RETAINS);
}

enum name_maker name_maker(const char *name, size_t length)
{
    int32_t number;
    size_t before;
    const enum child_kind kind = name_read_kind(name, length, &number, &before);

    return maker_of(name, length, kind, name_read_id(name, length));
}
