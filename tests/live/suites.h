/* The suites against a real server, each defined by the file of its name. */
#ifndef LIVE_SUITES_H
#define LIVE_SUITES_H

#include "runner.h"

extern const struct test_suite mutex_basic_suite;
extern const struct test_suite semaphore_suite;
extern const struct test_suite leases_suite;
extern const struct test_suite mutex_layout_suite;
extern const struct test_suite mutex_owner_suite;
extern const struct test_suite mutex_callback_suite;
extern const struct test_suite mutex_async_suite;
extern const struct test_suite mutex_cancel_suite;
extern const struct test_suite mutex_change_suite;
extern const struct test_suite multilock_suite;
extern const struct test_suite mutex_end_suite;
extern const struct test_suite session_end_suite;
extern const struct test_suite mutex_fork_suite;
extern const struct test_suite thread_cancel_suite;
extern const struct test_suite thread_refused_suite;
extern const struct test_suite cancel_calls_suite;
extern const struct test_suite rwlock_suite;
extern const struct test_suite mutex_admin_suite;
extern const struct test_suite mutex_parents_suite;
extern const struct test_suite old_servers_suite;
extern const struct test_suite barrier_suite;
extern const struct test_suite member_suite;
extern const struct test_suite members_suite;
extern const struct test_suite double_barrier_suite;
extern const struct test_suite double_barrier_round_suite;
extern const struct test_suite counter_call_suite;
extern const struct test_suite queue_order_suite;
extern const struct test_suite queue_read_suite;
extern const struct test_suite queue_watch_suite;
extern const struct test_suite bad_path_suite;
extern const struct test_suite bad_connect_suite;
extern const struct test_suite bad_access_suite;
extern const struct test_suite bad_children_suite;
extern const struct test_suite bad_limits_suite;
extern const struct test_suite counter_suite;
extern const struct test_suite fault_cut_suite;
extern const struct test_suite fault_restore_suite;
extern const struct test_suite fault_session_suite;
extern const struct test_suite fault_freeze_suite;
extern const struct test_suite fault_worker_suite;
extern const struct test_suite fault_reply_suite;
extern const struct test_suite fault_long_queue_suite;
extern const struct test_suite fault_reentry_suite;
extern const struct test_suite fault_orphan_suite;
extern const struct test_suite fault_deadline_suite;
extern const struct test_suite fault_ensemble_suite;
extern const struct test_suite fault_close_suite;
extern const struct test_suite fault_race_suite;
extern const struct test_suite fault_process_suite;
extern const struct test_suite retained_turns_suite;
extern const struct test_suite retained_rival_suite;
extern const struct test_suite giving_way_suite;
extern const struct test_suite retained_try_suite;
extern const struct test_suite retained_wanted_suite;
extern const struct test_suite retained_end_suite;
extern const struct test_suite dispatch_suite;
extern const struct test_suite election_campaign_suite;
extern const struct test_suite election_layout_suite;
extern const struct test_suite election_look_suite;
extern const struct test_suite election_observe_suite;
extern const struct test_suite election_priority_suite;
extern const struct test_suite election_start_suite;
extern const struct test_suite fence_suite;
extern const struct test_suite fence_call_suite;
extern const struct test_suite zoolock_node_suite;
extern const struct test_suite zoolock_call_suite;
extern const struct test_suite scenario_pause_suite;
extern const struct test_suite scenario_clock_suite;
extern const struct test_suite scenario_admin_suite;
extern const struct test_suite scenario_wire_suite;
extern const struct test_suite scenario_end_suite;
extern const struct test_suite scenario_race_suite;
extern const struct test_suite scenario_load_suite;
extern const struct test_suite scenario_disk_suite;
extern const struct test_suite scenario_follow_suite;
extern const struct test_suite scenario_lists_suite;
extern const struct test_suite scenario_names_suite;
extern const struct test_suite scenario_trio_suite;
extern const struct test_suite scenario_trio_session_suite;

/* live --counter-worker ARGUMENTS: one of the processes of counter_suite. */
int counter_worker(int argc, char **argv);

/* live --thread-worker ARGUMENTS: one of the processes of thread_refused_suite. */
int thread_worker(int argc, char **argv);

/* live --scenario-worker ARGUMENTS: a holder of its own; see scenario.h. */
int scenario_worker(int argc, char **argv);

/* live --scenario-load ARGUMENTS: one of the processes of scenario_load_suite. */
int scenario_load(int argc, char **argv);

#endif
