/* Credentials: one copy while the session lives, and none when it has ended. */
#include "fake_store.h"
#include "runner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST_SUITE(credentials);

/* The allocator writes over the beginning of what is freed, so what is looked for is the end. */
enum { LENGTH = 80, BEGINNING = 40, TAIL = LENGTH - BEGINNING, CHUNK = 65536 };
static const size_t region_max = (size_t)256 << 20; /* larger ones are a sanitizer's own */

/* Nothing else in our memory looks like that: each byte is made when it is compared. */
static char secret_byte(int i)
{
    static volatile int seed = 77;

    return (char)('!' + (seed + i * i * 31) % 90);
}

static void make_secret(char *ret)
{
    for (int i = 0; i < LENGTH; i++)
        ret[i] = secret_byte(i);
    ret[LENGTH] = '\0';
}

static bool is_secret(const char *at)
{
    for (int i = 0; i < TAIL; i++)
        if (at[i] != secret_byte(BEGINNING + i))
            return false;
    return true;
}

static int count_in(int memory, uintptr_t from, uintptr_t to)
{
    static char chunk[CHUNK];
    const char first = secret_byte(BEGINNING);
    int found = 0;

    for (ssize_t n; from < to; from += (uintptr_t)n) {
        n = pread(memory, chunk, MIN(sizeof chunk, to - from), (off_t)from);
        if (n < TAIL)
            break;
        for (ssize_t i = 0; i + TAIL <= n; i++)
            found += chunk[i] == first && is_secret(chunk + i);
        explicit_bzero(chunk, sizeof chunk);
        n = from + (uintptr_t)n < to ? n - TAIL + 1 : n;
    }
    return found;
}

/* In all memory that this process may write. */
static int copies(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), found = 0;
    char line[512], access[8];
    uintptr_t from, to;

    REQUIRE(maps && memory >= 0);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, access) == 3 &&
            strcmp(access, "rw-p") == 0 && to - from < region_max)
            found += count_in(memory, from, to);
    fclose(maps);
    close(memory);
    return found;
}

static zkl_session *open_with_secret(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    char secret[LENGTH + 1];
    const zkl_credential credentials[] = {{"digest", "a:b"}, {"digest", secret}};
    zkl_session *s;

    make_secret(secret);
    options.credentials = credentials;
    options.credential_count = G_N_ELEMENTS(credentials);
    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, "fake:1", &options, NULL) == 0);
    session_store = &store_zk;
    CHECK(copies() >= 2);
    explicit_bzero(secret, sizeof secret);
    return s;
}

TEST_CASE(wiped)
{
#ifdef __SANITIZE_THREAD__
    runner_skip("ThreadSanitizer's own memory is too much to be searched");
    return;
#endif
    zkl_session *s = open_with_secret();

    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    CHECK_INT(copies(), 1);
    fake_event(STORE_EV_EXPIRED); /* they are for the next incarnation, too */
    CHECK_INT(copies(), 1);
    zkl_session_close(s);
    /* The thread that has closed the store may be the last to have the session. */
    for (int i = 0; i < 1000 && copies() > 0; i++)
        g_usleep(1000);
    CHECK_INT(copies(), 0);
}
