/* What is fuzzed. A target takes any bytes and checks with runner.h's CHECK what must hold for all
 * of them; it leaves nothing behind that the next input could see. To add one: a line here, a
 * line in targets.c, and seeds in the file corpus/NAME: see replay.c. */
#ifndef FUZZ_TARGETS_H
#define FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
    const char *name;
    void (*one)(const uint8_t *data, size_t size);
};

void fuzz_acl(const uint8_t *data, size_t size);
void fuzz_command(const uint8_t *data, size_t size);
void fuzz_durations(const uint8_t *data, size_t size);
void fuzz_attempt(const uint8_t *data, size_t size);
void fuzz_proofs(const uint8_t *data, size_t size);
void fuzz_names(const uint8_t *data, size_t size);
void fuzz_paths(const uint8_t *data, size_t size);
void fuzz_payloads(const uint8_t *data, size_t size);
void fuzz_places(const uint8_t *data, size_t size);
void fuzz_probe(const uint8_t *data, size_t size);
void fuzz_writers(const uint8_t *data, size_t size);

/* Ends with a NULL name. */
extern const struct fuzz_target fuzz_targets[];

#endif
