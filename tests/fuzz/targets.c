#include "targets.h"

const struct fuzz_target fuzz_targets[] = {
    {"acl", fuzz_acl},         {"command", fuzz_command},
    {"attempt", fuzz_attempt}, {"durations", fuzz_durations},
    {"proofs", fuzz_proofs},   {"names", fuzz_names},
    {"paths", fuzz_paths},     {"payloads", fuzz_payloads},
    {"places", fuzz_places},   {"probe", fuzz_probe},
    {"writers", fuzz_writers}, {NULL, NULL},
};
