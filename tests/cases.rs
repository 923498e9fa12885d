//! Public reports of what goes wrong with per-CPU data, and where each is tested.
//!
//! A line of `TABLE` has the tests that reproduce the report's kind of fault, or a part of it. A missing
//! id, a doubled one, one without a test and a test that does not exist fail.

#[path = "cases/check.rs"]
mod check;

use check::{check_ids, check_test, read_file, report_ids};

/// Id, what went wrong, and where people reported it.
const REPORTS: &str = include_str!("cases/reports.txt");

/// A test is `tests/file.rs::name`, or a file of `tests/compile_fail`.
// One line each, however long: it is read by id.
#[rustfmt::skip]
const TABLE: &[(&str, &[&str])] = &[
    ("A1", &["tests/topology/sandbox.rs::a_pinned_process_has_the_lanes_of_the_whole_machine_and_its_own_id", "tests/cells.rs::a_cpu_that_is_taken_away_keeps_its_value", "tests/limits.rs::a_process_on_one_cpu_counts_everything", "tests/cgroups.rs::a_container_of_one_cpu_has_the_lanes_of_the_machine_and_its_own_id"]),
    ("A3", &["tests/topology/ids.rs::four_cores_of_eight_threads_have_32_lanes_not_four"]),
    ("A4", &["tests/topology/ids.rs::the_number_of_allowed_cpus_is_not_the_number_of_lanes"]),
    ("A5", &["tests/topology/ids.rs::a_hot_added_cpu_is_beyond_the_lanes_that_were_counted", "tests/topology/lists.rs::a_machine_that_grows_does_not_change_what_was_read", "tests/space.rs::the_default_area_has_a_lane_for_every_possible_cpu", "tests/ids.rs::a_cpu_that_was_added_later_counts_on_the_spill_lane"]),
    ("A6", &["tests/limits.rs::a_thousand_objects_open_no_more_files_than_one", "tests/limits.rs::a_process_on_one_cpu_counts_everything"]),
    ("A7", &["tests/topology/lists.rs::a_cpu_that_is_possible_but_absent_has_no_topology_and_no_panic"]),
    ("A9", &["tests/topology/lists.rs::ids_with_holes_crash_arrays_that_are_sized_by_population", "tests/ids.rs::every_id_has_a_lane_of_its_own", "tests/sandboxes.rs::a_process_on_a_machine_with_odd_lists_counts_and_allocates"]),
    ("A10", &["src/cpu/processor_groups.rs::cpus_of_the_second_group_share_the_places_of_the_first_or_are_beyond_all", "src/cpu/processor_groups.rs::a_cpu_has_two_ids_or_an_id_two_cpus"]),
    ("A12", &["tests/topology/ids.rs::an_unknown_cpu_is_none_and_not_cpu_0", "src/sys/current.rs::eight_live_threads_do_not_share_one_place", "tests/ids.rs::threads_whose_cpu_is_not_known_are_spread"]),
    ("B1", &["tests/topology/ids.rs::a_kernel_for_1920_cpus_refuses_short_buffers_and_is_asked_again", "src/sys/affinity.rs::a_kernel_that_needs_256_bytes_gets_them", "src/cpu/mask/tests.rs::the_edges_of_words_and_of_fixed_masks_are_no_edges", "tests/sandboxes.rs::a_process_on_a_machine_with_odd_lists_counts_and_allocates"]),
    ("B4", &["src/cpu/mask/tests.rs::above_cpu_63_the_set_is_still_a_set", "src/cpu/mask/tests.rs::the_next_cpu_is_the_next_one", "src/cpu/mask/tests.rs::set_algebra_is_that_of_sets"]),
    ("B5", &["src/cpu/mask/tests.rs::a_map_of_768_cpus_is_read", "src/cpu/mask/tests.rs::a_map_of_any_width_is_read", "tests/topology/nodes.rs::a_cpumap_of_768_cpus_is_read_where_there_is_no_list"]),
    ("B6", &["tests/topology/ids.rs::high_ids_are_not_refused_when_few_cpus_are_allowed", "tests/space.rs::lanes_of_cpus_that_are_not_there_cost_no_memory"]),
    ("B7", &["tests/topology/sandbox.rs::a_thousand_questions_open_a_handful_of_files", "tests/limits.rs::a_thousand_objects_open_no_more_files_than_one"]),
    ("C1", &["tests/topology/lists.rs::a_list_of_one_cpu_is_a_list"]),
    ("C2", &["tests/topology/lists.rs::the_rest_of_a_mixed_list_is_not_ignored", "src/cpu/mask/tests.rs::singles_ranges_and_mixtures_are_read_to_the_end"]),
    ("C3", &["tests/topology/lists.rs::three_cpus_with_a_gap_need_four_places", "src/cpu/mask/tests.rs::how_many_and_how_long_are_two_numbers", "tests/percpu.rs::every_way_to_count_lanes_gives_one_number"]),
    ("C4", &["tests/topology/lists.rs::a_broken_list_gives_the_next_source_and_an_issue", "tests/topology/lists.rs::an_endless_file_is_not_read_to_its_end", "src/cpu/mask/tests.rs::a_hostile_list_is_an_error_with_a_place", "src/cpu/mask/tests.rs::no_bytes_make_the_parsers_panic"]),
    ("C5", &["tests/topology/lists.rs::an_absent_sys_is_a_normal_state", "tests/sandboxes.rs::a_process_on_a_machine_with_odd_lists_counts_and_allocates"]),
    ("D1", &["src/sys/backend.rs::a_thread_with_an_id_has_a_backend_that_uses_it", "rseq-tests/tests/exact.rs::ten_million_operations_leave_the_area_as_the_kernel_wrote_it", "tests/backend/registered.rs::where_libc_registers_threads_sections_run_without_any_setting", "tests/backend/registered.rs::each_thread_is_registered_once_and_by_libc", "tests/backend/registered.rs::after_ten_million_operations_the_id_words_are_the_kernels"]),
    ("D5", &["src/sys/linux.rs::an_area_below_the_thread_pointer_is_read_in_the_right_place", "tests/backend/registered.rs::the_area_is_where_libc_says_from_each_threads_own_pointer"]),
    ("D7", &["tests/topology/sandbox.rs::without_libcs_registration_the_id_comes_from_the_system", "tests/backend/binary.rs::with_a_libc_without_registration_a_program_links_and_counts", "tests/backend/without.rs::with_the_registration_switched_off_the_sums_are_the_same"]),
    ("D8", &["tests/topology/sandbox.rs::a_sandbox_that_refuses_the_calls_costs_the_answers_and_nothing_else", "tests/topology/sandbox.rs::refused_calls_are_not_made_again_and_again", "tests/backend/without.rs::whatever_a_sandbox_refuses_the_sums_are_the_same_and_nothing_is_printed", "tests/backend/without.rs::a_refused_call_is_not_made_again"]),
    ("D10", &["tests/topology/ids.rs::one_thread_without_an_id_does_not_take_it_from_the_others", "src/sys/current.rs::a_thread_that_is_not_registered_has_no_id", "tests/ids.rs::ids_that_come_and_go_lose_no_update", "rseq-tests/tests/exact.rs::threads_without_a_registration_are_counted_too", "tests/backend/registered.rs::a_thread_that_is_not_registered_counts_on_the_spill_lane_beside_those_that_are"]),
    ("D13", &["src/sys/linux.rs::the_areas_id_agrees_with_the_system_while_the_thread_stays", "tests/backend/registered.rs::a_thread_that_is_moved_counts_on_its_new_cpu_at_once"]),
    ("D14", &["tests/topology/sandbox.rs::no_instruction_that_old_machines_lack_asks_for_the_cpu", "tests/backend/binary.rs::of_the_thread_area_the_id_alone_is_read_and_no_instruction_is_newer_than_the_target"]),
    ("D15", &["tests/pool/processes.rs::without_the_barrier_sections_are_drained", "tests/pool/processes.rs::a_barrier_that_is_refused_later_loses_objects", "rseq-tests/tests/fence.rs::a_fence_of_one_cpu_and_of_all_work_where_they_are_said_to", "rseq-tests/tests/fence.rs::a_drain_beside_pushes_hands_out_every_node_once", "tests/backend/without.rs::without_membarrier_the_fence_is_refused_and_sections_count_on", "tests/rwlock/processes.rs::without_the_barrier_readers_use_sections", "tests/rwlock/processes.rs::a_barrier_that_is_refused_later_lets_a_writer_in", "tests/refcount/processes.rs::a_barrier_that_is_refused_later_frees_early_or_leaks_in_silence"]),
    ("D16", &["src/sys/rseq/abi.rs::a_field_is_used_only_where_the_kernel_fills_it", "tests/backend/binary.rs::of_the_thread_area_the_id_alone_is_read_and_no_instruction_is_newer_than_the_target"]),
    ("E1", &["tests/space.rs::lanes_of_cpus_that_are_not_there_cost_no_memory", "tests/cgroups.rs::a_container_with_little_memory_is_not_killed_for_lanes_of_absent_cpus", "tests/sandboxes.rs::a_process_on_a_machine_with_odd_lists_counts_and_allocates"]),
    ("E2", &["tests/space.rs::many_small_objects_do_not_take_a_line_each"]),
    ("E3", &["tests/limits.rs::a_limit_on_address_space_ends_in_an_error", "tests/limits.rs::a_limit_on_data_ends_in_an_error"]),
    ("E4", &["tests/space.rs::mappings_are_not_charged_and_take_no_huge_pages", "tests/cgroups.rs::where_memory_is_promised_once_objects_are_made_or_refused"]),
    ("E5", &["tests/space.rs::mappings_are_not_charged_and_take_no_huge_pages"]),
    ("E6", &["tests/percpu.rs::an_area_with_fewer_lanes_than_cpus_is_refused", "tests/limits.rs::a_machine_with_one_cpu_has_every_container"]),
    ("E7", &["tests/shapes.rs::copies_are_aligned_and_lanes_share_neither_a_line_nor_a_page"]),
    ("E8", &["tests/shapes.rs::sizes_that_overflow_are_an_error_before_any_initialiser_runs"]),
    ("E9", &["tests/shapes.rs::copies_are_aligned_and_lanes_share_neither_a_line_nor_a_page", "tests/shapes.rs::a_value_of_3_mib_is_made_by_a_thread_with_a_stack_of_64_kib"]),
    ("E10", &["tests/shapes.rs::values_without_size_are_dropped_once_a_lane"]),
    ("E11", &["tests/shapes.rs::large_objects_keep_what_was_written_in_every_lane"]),
    ("F1", &["tests/cacheline.rs::each_target_has_its_own_line_size", "tests/cacheline.rs::groups_keep_their_promises_on_lines_of_any_size"]),
    ("F2", &["tests/cacheline.rs::the_line_size_can_be_overridden_at_build", "tests/groups.rs::an_aligned_group_begins_on_a_line_and_what_follows_begins_on_another"]),
    ("F3", &["tests/cacheline.rs::the_line_size_can_be_overridden_at_build", "tests/cacheline.rs::a_bad_override_fails_the_build_and_says_what_is_right", "tests/cacheline.rs::a_promise_that_larger_lines_break_fails_the_build_for_them", "tests/topology/nodes.rs::the_machines_line_is_the_largest_of_its_caches", "tests/groups.rs::a_machine_with_larger_lines_is_warned_of"]),
    ("F7", &["tests/cacheline.rs::neighbours_share_no_line", "tests/compile_fail/group_at_the_rim_of_its_struct.rs", "tests/shapes.rs::copies_are_aligned_and_lanes_share_neither_a_line_nor_a_page", "tests/rwlock/api.rs::the_counts_of_an_arc_share_the_readers_line"]),
    ("G1", &["tests/percpu.rs::eight_threads_that_use_a_static_first_find_one_value", "loom-tests/tests/once.rs::reader_sees_a_thing_that_is_not_made", "loom-tests/tests/once.rs::makers_use_different_things"]),
    ("G4", &["tests/pool/panics.rs::objects_outlive_their_pool_or_die_twice", "tests/pool/panics.rs::one_drop_that_panics_leaks_the_others", "tests/drops.rs::every_lane_is_dropped_once", "tests/refcount/arcs.rs::a_value_whose_drop_panics_is_dropped_twice_or_its_memory_leaks"]),
    ("G5", &["tests/compile_fail/percpu_of_cells_is_not_sync.rs", "tests/compile_fail/percpu_of_rc_is_not_sync.rs", "tests/compile_fail/percpu_of_mutex_guards_is_not_send.rs", "tests/compile_fail/handle_of_cells_is_not_send.rs", "tests/compile_fail/iter_over_cells_is_not_send.rs", "tests/compile_fail/colocated_is_not_sync.rs", "tests/percpu.rs::objects_go_to_other_threads_only_if_their_values_may", "tests/compile_fail/rwlock_of_cells_is_not_sync.rs", "tests/compile_fail/rwlock_of_rc_is_not_send.rs", "tests/compile_fail/rwlock_read_guard_of_cells_is_not_send.rs", "tests/compile_fail/arc_of_cells_is_not_send.rs", "tests/compile_fail/arc_owner_of_guards_is_not_sync.rs"]),
    ("G7", &["tests/compile_fail/this_kept_beyond_its_owner.rs", "tests/compile_fail/handle_kept_beyond_its_owner.rs", "tests/compile_fail/rwlock_guard_outlives_its_lock.rs", "tests/compile_fail/rwlock_value_outlives_its_guard.rs"]),
    ("G8", &["tests/compile_fail/copies_shared_while_changed.rs", "tests/compile_fail/cell_added_through_a_reference.rs"]),
    ("G9", &["tests/cells.rs::threads_that_change_cpus_all_the_time_lose_no_update", "rseq-tests/tests/exact.rs::eight_disturbed_threads_lose_nothing", "tests/batched.rs::a_batched_count_is_exact_when_threads_that_moved_are_done", "tests/counters_disturbed.rs::operations_that_are_moved_before_they_commit_are_carried_once", "rseq-tests/tests/counters.rs::counters_that_are_cut_off_at_any_point_are_exact", "tests/histogram_threads.rs::eight_threads_that_move_lose_no_value_and_no_count_goes_back", "rseq-tests/tests/histograms.rs::histograms_that_are_cut_off_at_any_point_are_exact", "rseq-tests/tests/rwlock.rs::a_disturbed_reader_sees_half_of_a_write_or_a_write_is_lost"]),
    ("G10", &["src/refcount/count.rs::a_count_wraps_when_references_are_forgotten"]),
    ("G11", &["tests/pool/panics.rs::a_constructor_that_panics_uses_the_capacity_up", "tests/drops.rs::an_initialiser_that_panics_leaves_nothing_behind", "tests/drops.rs::an_initialiser_that_fails_leaves_nothing_behind"]),
    ("H1", &["tests/pool/threads.rs::ten_thousand_threads_leave_something_behind", "tests/threads.rs::ten_thousand_threads_leave_nothing_behind", "tests/sandboxes.rs::ten_thousand_threads_at_once_have_a_place_each"]),
    ("H6", &["tests/threads.rs::a_library_that_used_the_crate_is_really_unloaded"]),
    ("H7", &["tests/pool/processes.rs::a_forked_child_waits_for_threads_that_are_gone", "tests/ring/processes.rs::a_forked_child_waits_for_writers_that_are_gone", "tests/churn.rs::a_forked_child_allocates_while_the_parents_threads_did", "tests/rwlock/processes.rs::a_forked_child_finds_a_free_lock_taken"]),
    ("H8", &["tests/churn.rs::a_forked_child_allocates_while_the_parents_threads_did"]),
    ("I1", &["tests/pool/lane.rs::objects_of_a_cpu_that_never_comes_back_are_lost", "tests/cells.rs::a_cpu_that_is_taken_away_keeps_its_value"]),
    ("I3", &["tests/cells.rs::a_gauge_that_is_lowered_on_another_cpu_is_not_huge", "tests/counters.rs::a_gauge_below_zero_is_negative", "loom-tests/tests/counter.rs::a_sum_beside_a_take_is_less_than_nothing"]),
    ("I4", &["tests/topology/lists.rs::a_machine_that_grows_does_not_change_what_was_read", "tests/percpu.rs::every_way_to_count_lanes_gives_one_number", "tests/counters.rs::the_lanes_of_counters_are_a_property_of_their_area"]),
    ("I5", &["tests/topology/ids.rs::possible_online_allowed_and_lanes_are_four_numbers"]),
    ("I6", &["tests/cells.rs::a_thread_finds_its_own_adds_in_a_live_sum", "tests/counters.rs::a_thread_takes_what_it_added_itself", "tests/histogram_threads.rs::a_thread_finds_its_own_values_in_a_live_snapshot"]),
    ("I7", &["tests/topology/ids.rs::the_number_of_allowed_cpus_is_not_the_number_of_lanes"]),
    ("J1", &["tests/topology/nodes.rs::no_node_directory_is_one_node"]),
    ("J2", &["tests/topology/nodes.rs::cpus_whose_node_has_no_memory_get_it_from_the_nearest_that_has"]),
    ("J3", &["tests/topology/nodes.rs::node_ids_with_gaps_and_no_distances_are_taken_as_they_are", "tests/topology/nodes.rs::an_online_node_without_files_has_no_cpus_and_an_issue"]),
    ("J4", &["tests/quiet.rs::a_refused_memory_policy_costs_one_call_and_no_words"]),
    ("J5", &["tests/space.rs::zeroed_memory_is_not_touched"]),
    ("J6", &["tests/topology/ids.rs::a_cpuset_does_not_renumber_the_cpus_of_a_node", "tests/topology/sandbox.rs::a_pinned_process_has_the_lanes_of_the_whole_machine_and_its_own_id"]),
    ("J8", &["tests/topology/nodes.rs::a_cache_domain_can_be_finer_than_a_node", "tests/topology/nodes.rs::the_same_core_number_in_four_sockets_is_four_cores"]),
    ("K2", &["tests/priority/cut.rs::a_level_that_empties_under_a_search_gives_nobody_who_is_not_there", "tests/priority/cut.rs::a_search_in_the_middle_of_a_change_misses_nobody_who_rises"]),
    ("K3", &["tests/priority/fit.rs::a_task_that_fits_nowhere_goes_to_the_lowest", "tests/priority/fit.rs::a_fitting_cpu_is_preferred_to_a_lower_one"]),
    ("K4", &["tests/priority/cut.rs::a_writer_that_stops_anywhere_keeps_nobody_waiting", "tests/priority/threads.rs::twelve_threads_break_no_promise"]),
    ("K5", &["tests/priority/edges.rs::a_level_without_an_allowed_cpu_does_not_end_the_search", "tests/priority/edges.rs::cpus_that_are_not_there_are_not_found"]),
    ("K6", &["tests/priority/edges.rs::an_equal_is_not_pushed_away", "tests/priority/edges.rs::a_level_that_is_set_again_counts_once", "tests/priority/cost.rs::a_level_that_is_set_again_writes_nothing", "tests/priority/edges.rs::a_level_that_the_vector_has_not_is_refused_and_changes_nothing", "tests/priority/edges.rs::a_fresh_vector_has_nobody_to_find", "tests/priority/slots.rs::a_cpu_that_the_vector_has_not_cannot_be_claimed"]),
    ("K7", &["tests/priority/threads.rs::twelve_threads_break_no_promise", "tests/compile_fail/priority_level_of_plain_words.rs"]),
    ("L1", &["loom-tests/dependent/tests/gate.rs::a_model_that_fails_says_why_with_our_types_in_it"]),
    ("L2", &["loom-tests/tests/bitmap.rs::two_claimers_own_one_bit", "loom-tests/tests/bitmap.rs::every_claimer_of_a_chain_is_beaten"]),
    ("L3", &["src/sys/interpreted.rs::threads_that_never_move_or_never_meet_hide_races_between_lanes", "src/sys/interpreted.rs::an_interpreter_asks_the_machine_below_it"]),
    ("L4", &["loom-tests/tests/rseq.rs::a_seen_commit_hides_what_came_before", "tests/published.rs::an_object_arrives_without_what_its_last_user_did", "tests/published.rs::a_record_arrives_without_what_its_writer_did_before", "tests/published.rs::a_writer_comes_before_its_readers_have_left", "tests/published.rs::a_value_dies_before_its_users_are_done_with_it"]),
    ("M1", &["src/sys/backend.rs::the_reason_belongs_to_the_backend_in_force", "src/sys/backend.rs::a_thread_with_an_id_has_a_backend_that_uses_it", "tests/backend/report.rs::every_operation_counts_and_the_backend_says_why", "tests/backend/without.rs::under_valgrind_the_sums_are_the_same_and_the_backend_says_why"]),
    ("M2", &["tests/percpu.rs::an_area_with_fewer_lanes_than_cpus_is_refused", "tests/shapes.rs::copies_are_aligned_and_lanes_share_neither_a_line_nor_a_page", "tests/space.rs::an_area_at_its_capacity_refuses_and_works_again_after_a_free"]),
    ("M3", &["tests/topology/nodes.rs::threads_of_one_core_are_apart_or_those_of_two_together"]),
    ("M4", &["tests/pool/bounds.rs::a_pool_that_was_filled_takes_from_the_heap", "tests/pool/bounds.rs::a_pool_at_its_capacity_keeps_more", "tests/quiet.rs::operations_take_nothing_from_the_heap"]),
    ("M5", &["tests/percpu.rs::counters_have_tokens_names_and_snapshots", "tests/cells.rs::threads_that_change_cpus_all_the_time_lose_no_update", "tests/counters.rs::every_event_is_in_one_take_or_in_the_rest", "tests/batched.rs::a_batched_count_is_within_its_bound_after_every_update", "tests/scrape.rs::the_last_scrape_tells_exactly_what_was_served"]),
    ("M6", &["tests/ids.rs::a_walk_over_the_lanes_that_were_used_misses_one"]),
    ("M7", &["tests/pool/bounds.rs::what_is_kept_grows_with_the_number_of_threads", "tests/pool/bounds.rs::more_is_kept_than_there_is_room_for"]),
    ("M8", &["rseq-tests/tests/hot_paths.rs::the_hot_paths_call_nothing_and_lock_nothing", "rseq-tests/tests/pool.rs::objects_that_go_round_are_lost_or_have_two_users"]),
    ("M9", &["tests/quiet.rs::a_refused_memory_policy_costs_one_call_and_no_words"]),
];

#[test]
fn every_report_has_one_line() {
    let table: Vec<&str> = TABLE.iter().map(|(id, _)| *id).collect();
    let faults = check_ids(&report_ids(REPORTS), &table);
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}

#[test]
fn every_named_test_exists() {
    let mut faults = Vec::new();
    for (id, places) in TABLE {
        if places.is_empty() {
            faults.push(format!("{id} has no test"));
        }
        faults.extend(places.iter().filter_map(|place| check_test(place, read_file)));
    }
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}
