/* Exchanges of one session in any order, with clocks that rise apart. The input: the session's
 * numbers, then steps: a byte that says what, and what it needs. Requests are answered only on the
 * connection they were sent on, once; everything else is up to the input. */
#include "targets.h"

#include "input.h"
#include "proofs_oracle.h"
#include "runner.h"

#define MS INT64_C(1000000)

enum { ROUNDS_MAX = 400 };

static struct oracle o;

/* Nanoseconds, from none to a minute; the second clock a little off. */
static void pass(struct input *in)
{
    int64_t ns = (int64_t)input_number(in, 2) * MS;
    int64_t apart = (int8_t)input_byte(in) * (ns / 1000);

    o.now.boot += ns;
    o.now.raw += ns + apart;
}

/* At least two ticks, as servers have it. */
static int64_t take_timeout(struct input *in)
{
    int64_t ns = (200 + (int64_t)input_number(in, 2) % 40000) * MS;

    return MAX(ns, 2 * o.proofs.tick);
}

static size_t open_exchange(struct input *in)
{
    size_t at = input_byte(in);

    for (size_t i = 0; i < o.count; i++)
        if (!o.history[(at + i) % o.count].over)
            return (at + i) % o.count;
    return SIZE_MAX;
}

static void step(struct input *in)
{
    unsigned what = input_byte(in) % 10;
    size_t i = what == 2 || what == 3 ? open_exchange(in) : SIZE_MAX;

    if (what == 0)
        oracle_send_wanted(&o);
    else if (what == 1 && o.connected)
        oracle_send_other(&o, input_byte(in) & 1);
    else if (what == 2 && i != SIZE_MAX)
        oracle_answered(&o, i);
    else if (what == 3 && i != SIZE_MAX)
        oracle_failed(&o, i);
    else if (what == 4)
        oracle_disconnected(&o);
    else if (what == 5)
        oracle_reconnected(&o, take_timeout(in));
    else if (what == 6 && o.connected)
        oracle_alone(&o);
    else if (what == 7)
        oracle_created(&o, o.now, take_timeout(in));
    else
        pass(in);
    oracle_check(&o);
}

static void tick(int64_t ns)
{
    o.now.boot += ns;
    o.now.raw += ns;
}

/* From everywhere, a standing connection on which what is wanted is sent and answered proves the
 * session again; also the one that there is, once what is under way has come to nothing. */
static void recover(void)
{
    for (size_t i = o.count; i-- > 0;)
        if (!o.history[i].over)
            oracle_failed(&o, i);
    if (!o.connected || o.count > ORACLE_HISTORY / 2)
        oracle_reconnected(&o, o.proofs.timeout);
    struct instant before = o.proofs.deadline;
    tick(o.proofs.timeout);
    for (int i = 0; i < ROUNDS_MAX && o.proofs.deadline.boot == before.boot; i++) {
        size_t sent = o.count;
        oracle_send_wanted(&o);
        tick(MS);
        if (o.count > sent)
            oracle_answered(&o, sent);
        else
            tick(proofs_wait(&o.proofs, o.now));
        if (o.count == ORACLE_HISTORY)
            break;
    }
    CHECK(o.proofs.deadline.boot > before.boot && o.proofs.deadline.raw > before.raw);
}

void fuzz_proofs(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    int64_t tick_ns = input_byte(&in) % 20 * 250 * MS; /* 0: unknown */

    oracle_init(&o, tick_ns, (int32_t)(input_number(&in, 2) % 501));
    oracle_created(&o, o.now, take_timeout(&in));
    oracle_check(&o);
    while (in.size > 0)
        step(&in);
    recover();
}
