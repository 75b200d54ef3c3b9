/* What the programs of the benchmark share, and how run.py talks with them. A program takes its
 * options as KEY=VALUE, says READY when it is connected and warm, and then plays one round for each
 * line on its input: it answers with one JSON object a line. It ends with its input. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdint.h>

void options_set(char **argv);
const char *option(const char *key, const char *fallback);
int64_t option_number(const char *key, int64_t fallback);

/* Ends the process with a sentence. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

int64_t now_ns(void);

/* A line to run.py, and waiting for one, which is valid until the next; NULL: the input has ended.
 */
void say(const char *word);
const char *told(void);

/* Times by their first six bits, so 3 % wide at most. */
enum { TIMES_BUCKETS = 64 * 64 };
struct times {
    uint32_t count[TIMES_BUCKETS];
    int64_t longest;
};

void times_add(struct times *t, int64_t ns);

/* What a round costs this process: processor time and switches to another thread. */
struct usage {
    int64_t ns, cpu_us, switches;
};

struct usage usage_now(void);

/* The object of a round: the first call takes the cost since begin, the last one ends the line. */
void answer_begin(int64_t ops, struct usage begin);
void answer_number(const char *key, double value);
void answer_times(const char *key, const struct times *t);
void answer_end(void);

/* What malloc has given out, and what of the process is in memory, in bytes. */
struct memory {
    int64_t heap, resident;
};

struct memory memory_now(void);

#endif
