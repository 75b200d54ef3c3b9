#include "text.h"

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
