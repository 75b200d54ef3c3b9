#include "live.h"
#include "suites.h"

#include <stddef.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const struct test_suite *const suites[] = {
        &mutex_basic_suite,
        &mutex_layout_suite,
        &mutex_owner_suite,
        &mutex_callback_suite,
        &mutex_async_suite,
        &mutex_cancel_suite,
        &mutex_change_suite,
        &mutex_end_suite,
        &session_end_suite,
        &mutex_fork_suite,
        &multilock_suite,
        &thread_cancel_suite,
        &rwlock_suite,
        &mutex_admin_suite,
        &mutex_parents_suite,
        &barrier_suite,
        &member_suite,
        &members_suite,
        &double_barrier_suite,
        &double_barrier_round_suite,
        &counter_call_suite,
        &queue_order_suite,
        &queue_read_suite,
        &queue_watch_suite,
        &bad_path_suite,
        &bad_connect_suite,
        &bad_access_suite,
        &bad_children_suite,
        &bad_limits_suite,
        &counter_suite,
        &fault_cut_suite,
        &fault_session_suite,
        &fault_freeze_suite,
        &fault_worker_suite,
        &fault_reply_suite,
        &fault_long_queue_suite,
        &fault_orphan_suite,
        &fault_close_suite,
        &fault_race_suite,
        &fault_process_suite,
        &retained_turns_suite,
        &retained_rival_suite,
        &retained_try_suite,
        &giving_way_suite,
        &semaphore_suite,
        &leases_suite,
        &retained_wanted_suite,
        &retained_end_suite,
        &dispatch_suite,
        &election_campaign_suite,
        &election_layout_suite,
        &election_look_suite,
        &election_observe_suite,
        &election_priority_suite,
        &election_start_suite,
        &fence_suite,
        &fence_call_suite,
        &fault_deadline_suite,
        &fault_ensemble_suite,
        &thread_refused_suite,
        &zoolock_node_suite,
        &zoolock_call_suite,
        &fault_reentry_suite,
        &fault_restore_suite,
        &cancel_calls_suite,
        &old_servers_suite,
        NULL,
    };
    if (argc > 1 && strcmp(argv[1], "--counter-worker") == 0)
        return counter_worker(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--thread-worker") == 0)
        return thread_worker(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--scenario-worker") == 0)
        return scenario_worker(argc - 2, argv + 2);
    int status = runner_main(argc, argv, suites);
    live_shutdown();
    return status;
}
