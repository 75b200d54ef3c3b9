#include "suites.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    static const struct test_suite *const suites[] = {
        &name_suite,
        &rule_suite,
        &contend_bounds_suite,
        &contend_diagram_suite,
        &contend_queue_suite,
        &contend_settle_suite,
        &contend_hold_suite,
        &contend_end_suite,
        &contend_walk_suite,
        &grant_quick_suite,
        &grant_suite,
        &contender_suite,
        &holder_suite,
        &op_suite,
        &epoch_suite,
        &proof_suite,
        &request_suite,
        &refusal_suite,
        &watch_suite,
        &driver_suite,
        &multi_suite,
        &multi_bounds_suite,
        &multi_doubt_suite,
        &election_suite,
        &election_status_suite,
        &observe_suite,
        &observer_suite,
        &tenure_suite,
        &lease_suite,
        &lease_clock_suite,
        &lease_pace_suite,
        &lease_attack_suite,
        &lease_steady_suite,
        &path_suite,
        &acl_suite,
        &error_suite,
        &session_suite,
        &handle_suite,
        &queue_suite,
        &denial_suite,
        NULL,
    };
    return runner_main(argc, argv, suites);
}
