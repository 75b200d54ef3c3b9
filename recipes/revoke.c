#include "revoke.h"

#include <string.h>

#include "numbering.h"
#include "transaction.h"

bool revoke_asks(const char *data, int length, int32_t version)
{
    const size_t word = sizeof REVOKE_WORD - 1;
    uint32_t number;
    size_t payload;

    if (version == 0 || length < (int)word)
        return false;
    payload = transaction_payload(data, (size_t)length, &number);
    numbering_read(data, payload, NULL, 0, &payload);
    return payload == word && memcmp(data, REVOKE_WORD, word) == 0;
}
