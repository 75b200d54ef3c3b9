#include "text.h"

#include <string.h>

int32_t text_character(const char *text, size_t length, size_t *ret_bytes)
{
    static const int32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *at = (const uint8_t *)text;
    unsigned bytes = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    int32_t c = bytes == 1 ? at[0] : at[0] & (0x7f >> bytes);

    *ret_bytes = 1;
    if (bytes == 0 || at[0] >= 0xf8 || length < bytes)
        return TEXT_INVALID;
    for (unsigned i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return TEXT_INVALID;
        c = c << 6 | (at[i] & 0x3f);
    }
    if (c < lowest[bytes] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return TEXT_INVALID;
    *ret_bytes = bytes;
    return c;
}

bool text_is_control(int32_t c)
{
    return (c >= 0 && c < 0x20) || (c >= 0x7f && c < 0xa0);
}

bool text_is_trick(int32_t c)
{
    return c == 0xad || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x2064) || (c >= 0x2066 && c <= 0x206f) || c == 0xfeff;
}

bool text_is_clean(const char *text, size_t length)
{
    for (size_t i = 0, bytes; i < length; i += bytes) {
        int32_t c = text_character(text + i, length - i, &bytes);
        if (c == TEXT_INVALID || text_is_control(c))
            return false;
    }
    return true;
}

/* ---- JSON ---- */

enum { DEPTH_MAX = 32 };

/* Each reader moves on over what it is named for, or answers false. */
struct reader {
    const char *at;
    unsigned depth, objects;
    GString *string; /* the last one, decoded */
};

static void blanks(struct reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool one(struct reader *r, char c)
{
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static bool word(struct reader *r, const char *text)
{
    if (!g_str_has_prefix(r->at, text))
        return false;
    r->at += strlen(text);
    return true;
}

static bool four_hex(struct reader *r, int32_t *ret)
{
    *ret = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        if (!g_ascii_isxdigit(*r->at))
            return false;
        *ret = *ret << 4 | g_ascii_xdigit_value(*r->at);
    }
    return true;
}

/* What follows \u; a surrogate only in a pair. */
static bool unicode(struct reader *r)
{
    int32_t c, low;

    if (!four_hex(r, &c) || (c >= 0xdc00 && c < 0xe000))
        return false;
    if (c >= 0xd800 && c < 0xdc00) {
        if (!word(r, "\\u") || !four_hex(r, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    g_string_append_unichar(r->string, (gunichar)c);
    return true;
}

static bool escape(struct reader *r)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *at = *r->at ? strchr(letters, *r->at) : NULL;

    if (one(r, 'u'))
        return unicode(r);
    if (!at)
        return false;
    r->at++;
    g_string_append_c(r->string, meant[at - letters]);
    return true;
}

static bool string(struct reader *r)
{
    size_t bytes;

    if (!one(r, '"'))
        return false;
    g_string_truncate(r->string, 0);
    while (*r->at != '"') {
        int32_t c = text_character(r->at, strlen(r->at), &bytes);
        if (one(r, '\\')) {
            if (!escape(r))
                return false;
        } else if (c < 0x20) {
            return false;
        } else {
            g_string_append_len(r->string, r->at, (gssize)bytes);
            r->at += bytes;
        }
    }
    return one(r, '"');
}

static bool digits(struct reader *r)
{
    size_t n = strspn(r->at, "0123456789");

    r->at += n;
    return n > 0;
}

static bool number(struct reader *r)
{
    one(r, '-');
    if (!one(r, '0') && !digits(r))
        return false;
    if (one(r, '.') && !digits(r))
        return false;
    if (one(r, 'e') || one(r, 'E')) {
        if (!one(r, '+'))
            one(r, '-');
        return digits(r);
    }
    return true;
}

static bool value(struct reader *r);

/* The members of an array or an object, up to its end. */
static bool members(struct reader *r, bool named, char end)
{
    blanks(r);
    if (one(r, end))
        return true;
    do {
        blanks(r);
        if (named && !string(r))
            return false;
        blanks(r);
        if (named && !one(r, ':'))
            return false;
        if (!value(r))
            return false;
    } while (one(r, ','));
    return one(r, end);
}

static bool unpadded(struct reader *r)
{
    if (*r->at == '"')
        return string(r);
    if (one(r, '['))
        return members(r, false, ']');
    if (one(r, '{')) {
        r->objects++;
        return members(r, true, '}');
    }
    return word(r, "true") || word(r, "false") || word(r, "null") || number(r);
}

static bool value(struct reader *r)
{
    bool good = r->depth++ < DEPTH_MAX;

    blanks(r);
    good = good && unpadded(r);
    blanks(r);
    r->depth--;
    return good;
}

bool json_check(const char *text, unsigned *ret_objects)
{
    struct reader r = {.at = text, .string = g_string_new(NULL)};
    bool good = value(&r) && !*r.at;

    g_string_free(r.string, TRUE);
    if (ret_objects)
        *ret_objects = r.objects;
    return good;
}

GString *json_check_string(const char *text)
{
    struct reader r = {.at = text, .string = g_string_new(NULL)};

    if (string(&r) && !*r.at)
        return r.string;
    g_string_free(r.string, TRUE);
    return NULL;
}
