/* What answers a four-letter word: judged as the first bytes of it say. */
#include "targets.h"

#include "input.h"
#include "lib/store/probe.h"
#include "runner.h"

enum { HEARD_MAX = 96 };

static bool holds(const uint8_t *data, size_t size, const char *words)
{
    return size >= strlen(words) && memmem(data, size, words, strlen(words));
}

/* A server's own words are known behind anything that is no NUL; a prefix of them is not enough. */
static void check_words(const char *words)
{
    for (size_t n = 0; n <= strlen(words); n++) {
        char *answer = g_strndup(words, n);
        CHECK_INT(probe_is_zookeeper(answer), n == strlen(words));
        g_free(answer);
    }
}

void fuzz_probe(const uint8_t *data, size_t size)
{
    size_t heard = MIN(size, HEARD_MAX);
    const uint8_t *nul = heard ? memchr(data, 0, heard) : NULL;
    size_t length = nul ? (size_t)(nul - data) : heard;
    char *answer = g_strndup(length ? (const char *)data : "", length);
    bool expected = holds(data, length, " version: ") ||
                    holds(data, length, "srvr is not executed") ||
                    holds(data, length, "This ZooKeeper instance");

    CHECK_INT(probe_is_zookeeper(answer), expected);
    check_words(" version: ");
    check_words("srvr is not executed");
    check_words("This ZooKeeper instance");
    g_free(answer);
}
