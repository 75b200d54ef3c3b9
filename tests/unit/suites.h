/* The suites of pure logic, each defined by the _test.c of its name. */
#ifndef UNIT_SUITES_H
#define UNIT_SUITES_H

#include "runner.h"

extern const struct test_suite name_suite;
extern const struct test_suite name_kind_suite;
extern const struct test_suite probe_suite;
extern const struct test_suite rollback_suite;
extern const struct test_suite rule_suite;
extern const struct test_suite rule_kind_suite;
extern const struct test_suite permits_suite;
extern const struct test_suite numbering_suite;
extern const struct test_suite attempt_bounds_suite;
extern const struct test_suite attempt_diagram_suite;
extern const struct test_suite attempt_queue_suite;
extern const struct test_suite attempt_hand_over_suite;
extern const struct test_suite attempt_hint_suite;
extern const struct test_suite attempt_asked_suite;
extern const struct test_suite attempt_others_suite;
extern const struct test_suite attempt_settle_suite;
extern const struct test_suite attempt_try_suite;
extern const struct test_suite attempt_hold_suite;
extern const struct test_suite attempt_end_suite;
extern const struct test_suite attempt_layout_suite;
extern const struct test_suite attempt_shared_suite;
extern const struct test_suite attempt_downgrade_suite;
extern const struct test_suite attempt_walk_suite;
extern const struct test_suite driver_suite;
extern const struct test_suite log_stderr_suite;
extern const struct test_suite options_suite;
extern const struct test_suite multi_suite;
extern const struct test_suite multi_lock_suite;
extern const struct test_suite transaction_suite;
extern const struct test_suite transaction_doubt_suite;
extern const struct test_suite multi_bounds_suite;
extern const struct test_suite multi_doubt_suite;
extern const struct test_suite grant_quick_suite;
extern const struct test_suite grant_suite;
extern const struct test_suite contender_suite;
extern const struct test_suite contender_hint_suite;
extern const struct test_suite layout_suite;
extern const struct test_suite incompatible_suite;
extern const struct test_suite holder_suite;
extern const struct test_suite op_suite;
extern const struct test_suite incarnation_suite;
extern const struct test_suite proof_chain_suite;
extern const struct test_suite request_suite;
extern const struct test_suite refusal_suite;
extern const struct test_suite watch_suite;
extern const struct test_suite election_suite;
extern const struct test_suite election_status_suite;
extern const struct test_suite observe_suite;
extern const struct test_suite observer_suite;
extern const struct test_suite step_down_suite;
extern const struct test_suite candidacy_suite;
extern const struct test_suite candidacy_rivals_suite;
extern const struct test_suite retain_suite;
extern const struct test_suite retained_suite;
extern const struct test_suite retain_callers_suite;
extern const struct test_suite retain_rival_suite;
extern const struct test_suite retain_guard_suite;
extern const struct test_suite retained_seam_suite;
extern const struct test_suite children_suite;
extern const struct test_suite proofs_suite;
extern const struct test_suite proofs_clock_suite;
extern const struct test_suite proofs_attack_suite;
extern const struct test_suite proofs_pace_suite;
extern const struct test_suite proofs_steady_suite;
extern const struct test_suite path_suite;
extern const struct test_suite acl_suite;
extern const struct test_suite error_suite;
extern const struct test_suite session_suite;
extern const struct test_suite handle_suite;
extern const struct test_suite queue_change_suite;
extern const struct test_suite queue_suite;
extern const struct test_suite queue_watch_suite;
extern const struct test_suite denial_suite;
extern const struct test_suite admission_suite;
extern const struct test_suite local_queue_suite;
extern const struct test_suite tree_suite;
extern const struct test_suite canceler_suite;
extern const struct test_suite cgroup_path_suite;
extern const struct test_suite cleanup_suite;

#endif
