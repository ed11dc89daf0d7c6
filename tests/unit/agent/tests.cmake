ratoon_test(unit/agent/checkpoint_test
  SOURCES checkpoint/bad_way_test.cpp checkpoint/commit_looks_test.cpp checkpoint/file_names_test.cpp
          checkpoint/golden_run_test.cpp checkpoint/lost_manifests_test.cpp checkpoint/manifest_test.cpp
          checkpoint/open_files_test.cpp checkpoint/pins_test.cpp checkpoint/retention_test.cpp
          checkpoint/rollback_test.cpp checkpoint/run_store_test.cpp checkpoint/strange_folder_test.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/parts_test
  SOURCES checkpoint/parts/part_files_test.cpp checkpoint/parts/split_parts_test.cpp
  LIBS ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/tracked_state_test
  SOURCES session/api/train_parts_test.cpp session/tracked/device_memory_test.cpp session/tracked/file_state_test.cpp
          session/tracked/fixed_shapes_test.cpp session/tracked/pointers_test.cpp
  LIBS ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/tiers_test
  SOURCES checkpoint/tiers/claim_test.cpp checkpoint/tiers/claim_term_test.cpp checkpoint/tiers/claim_rules_test.cpp
          checkpoint/tiers/latest_test.cpp checkpoint/tiers/lineage_test.cpp
          checkpoint/tiers/load_path_test.cpp checkpoint/tiers/mirror_worker_test.cpp
          checkpoint/tiers/name_pattern_test.cpp checkpoint/tiers/stale_links_test.cpp
          checkpoint/tiers/resume_choice_test.cpp
          checkpoint/tiers/object_store_disk_test.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/pack_test
  SOURCES checkpoint/pack/cover_test.cpp checkpoint/pack/golden_test.cpp checkpoint/pack/header_test.cpp
          checkpoint/pack/layout_test.cpp checkpoint/pack/read_plan_test.cpp
  LIBS ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/disk_test
  SOURCES checkpoint/disk/direct_writes_test.cpp checkpoint/disk/durable_test.cpp
          checkpoint/disk/calls_with_timeout_test.cpp checkpoint/disk/disk_with_timeout_test.cpp
          checkpoint/disk/read_directly_test.cpp checkpoint/disk/real_disk_test.cpp
          checkpoint/disk/replacing_file_test.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/load_test
  SOURCES checkpoint/load/checkpoint_reader_test.cpp checkpoint/load/run_in_parallel_test.cpp
  LIBS ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/staging_test
  SOURCES checkpoint/staging/adoption_test.cpp checkpoint/staging/copy_to_image_test.cpp
          checkpoint/staging/copy_progress_test.cpp checkpoint/staging/more_slots_test.cpp
          checkpoint/staging/saver_of_two_test.cpp checkpoint/staging/saver_test.cpp
          checkpoint/staging/short_of_room_test.cpp checkpoint/staging/slot_test.cpp checkpoint/staging/soak_test.cpp
          checkpoint/staging/streaming_copy_test.cpp checkpoint/staging/writer_throws_test.cpp
          checkpoint/saver/background_checksums_test.cpp
  LIBS crash_support failing_calls ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/staging_memory_test
  SOURCES checkpoint/staging/stage_throws_test.cpp ../../support/scarce_memory.cpp LIBS crash_support ratoon::agent
  LABELS threads)
ratoon_test(unit/agent/interop_test
  SOURCES checkpoint/interop/golden_test.cpp checkpoint/interop/pickle_reader_test.cpp
          checkpoint/interop/pt_writer_test.cpp checkpoint/interop/stored_tensor_test.cpp
          checkpoint/interop/zip_reader_test.cpp
  LIBS ratoon::agent nlohmann_json::nlohmann_json)
ratoon_test(unit/agent/interop_large_test SOURCES checkpoint/interop/large_test.cpp
  LIBS ratoon::agent nlohmann_json::nlohmann_json LABELS long)
ratoon_test(unit/agent/session_test
  SOURCES session/shutdown/drain_test.cpp session/engine/engine_drain_test.cpp session/engine/engine_means_test.cpp
          session/engine/engine_durable_test.cpp session/engine/engine_phases_test.cpp
          session/shutdown/signals_test.cpp session/engine/engine_test.cpp session/telemetry/history_writer_test.cpp
          session/api/in_place_test.cpp session/api/embedded_session_test.cpp session/rendezvous/join_world_test.cpp
          session/rendezvous/own_address_test.cpp
          session/locations/ownership_guard_test.cpp
          session/locations/ownership_terms_test.cpp checkpoint/saver/save_promise_test.cpp
          session/shutdown/process_exit_test.cpp session/rendezvous/rendezvous_socket_test.cpp
          session/options/options_test.cpp session/options/launcher_variables_test.cpp
          session/locations/checkpoint_locations_test.cpp session/state/tracked_objects_test.cpp
          session/api/epochs_test.cpp
          session/api/train_counts_test.cpp session/api/train_ledger_test.cpp session/api/train_ends_test.cpp
          session/api/train_returns_test.cpp session/api/train_rollback_test.cpp session/api/train_saves_test.cpp
          session/state/start_snapshot_test.cpp session/state/values_test.cpp session/state/best_checkpoints_test.cpp
          session/engine/program_requests_test.cpp
          session/engine/engine_asks_test.cpp session/engine/engine_at_end_test.cpp session/locations/mirrors_test.cpp
          session/api/train_seed_test.cpp session/api/train_strange_folder_test.cpp session/api/train_test.cpp
          session/api/peek_test.cpp session/api/train_swallowed_test.cpp session/api/train_terminate_test.cpp
          session/api/train_threads_test.cpp session/api/train_untracked_test.cpp
          session/engine/engine_restore_test.cpp session/engine/engine_returns_test.cpp session/state/load_test.cpp
          session/state/load_from_test.cpp
  LIBS crash_support failing_calls ratoon::agent ratoon::base_contract LABELS threads PARTS 3)
ratoon_test(unit/agent/sums_test
  SOURCES session/sums/rank_sums_test.cpp session/sums/summed_numbers_test.cpp
  LIBS ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/session_hooks_test
  SOURCES session/api/train_epochs_test.cpp session/api/train_unpin_test.cpp
  LIBS ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/session_begin_test
  SOURCES session/locations/autoresume_test.cpp session/shutdown/forked_session_test.cpp
          session/state/load_seed_test.cpp session/api/train_data_test.cpp session/api/train_names_test.cpp LIBS
          ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/group_link_test
  SOURCES session/link/group_ends_test.cpp session/link/group_launches_test.cpp
          session/link/group_link_test.cpp session/link/group_secret_test.cpp
  LIBS ratoon::agent ratoon::base_contract LABELS threads)
# What a session is made of, without a session: pure rules, and the thin edges around them.
ratoon_test(unit/agent/session_rules_test
  SOURCES history/history_file_test.cpp history/history_test.cpp history/last_row_test.cpp
          session/telemetry/time_accounts_test.cpp session/telemetry/rank_means_test.cpp
          session/telemetry/run_ledger_test.cpp preemption/drain_plan_test.cpp preemption/notices_test.cpp
          preemption/save_interval_test.cpp metrics/running_metrics_test.cpp
          metrics/early_stopping_test.cpp progress/progress_bar_test.cpp
          progress/render_test.cpp session/api/amount_test.cpp session/engine/run_schedule_test.cpp
          session/locations/folder_lock_test.cpp session/locations/held_lock_test.cpp
          session/locations/identity_test.cpp session/telemetry/ledger_test.cpp
          session/options/misspelled_flags_test.cpp session/options/option_names_test.cpp
          session/options/take_options_test.cpp session/options/group_options_test.cpp
          session/options/launch_names_test.cpp
          session/engine/numerics_watch_test.cpp
          session/engine/phase_watch_test.cpp session/options/location_options_test.cpp
          session/locations/rollback_plan_test.cpp session/rendezvous/world_wait_test.cpp
          session/state/seed_of_test.cpp session/rendezvous/wait_reporter_test.cpp session/api/until_test.cpp
  LIBS crash_support failing_calls ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/devices_rules_test
  SOURCES devices/device_record_test.cpp devices/fault_decision_test.cpp devices/missing_device_test.cpp
          devices/xids_test.cpp LIBS ratoon::agent)
ratoon_test(unit/agent/device_watch_test SOURCES devices/device_watch_test.cpp devices/nvml_test.cpp
  LIBS ratoon::agent LABELS threads)
target_compile_definitions(device_watch_test PRIVATE TEST_NVML_LIBRARY="$<TARGET_FILE:nvml_stand_in>")
add_dependencies(device_watch_test nvml_stand_in)
ratoon_test(unit/agent/board_test
  SOURCES board/client_test.cpp board/connections_test.cpp board/frame_test.cpp board/handshake_test.cpp
          board/key_value_store_test.cpp board/served_board_test.cpp board/server_test.cpp
          board/unauthenticated_clients_test.cpp
  LIBS ratoon::agent ratoon::base_core LABELS threads)
ratoon_test(unit/agent/board_flood_nightly_test
  SOURCES board/board_flood_nightly_test.cpp LIBS ratoon::agent ratoon::base_core LABELS nightly threads)
ratoon_test(unit/agent/data_sets_test
  SOURCES data/sets/folder_dataset_test.cpp data/sets/lifetimes_test.cpp data/sets/memory_dataset_test.cpp
          data/sets/record_dataset_test.cpp data/sets/sample_test.cpp
  LIBS ratoon::agent LABELS threads)
# With what a build without HTTP has in place of remote stores.
ratoon_test(unit/agent/objects_test
  SOURCES objects/eviction_test.cpp objects/file_store_test.cpp objects/names_test.cpp objects/without_http_test.cpp
          ../../../agent/src/objects/remote/open_without_http.cpp
  LIBS ratoon::agent)
ratoon_test(unit/agent/object_cache_test
  SOURCES objects/cache_disk_test.cpp objects/object_cache_test.cpp ../../support/disk_watch.cpp
  LIBS ratoon::agent LABELS threads)
ratoon_test(unit/agent/order_test
  SOURCES data/order/batches_test.cpp data/order/blocks_test.cpp data/order/mixture_test.cpp
          data/order/permutation_test.cpp data/order/stream_plan_test.cpp data/order/resume_test.cpp
          data/order/state_test.cpp data/order/stream_test.cpp data/order/vectors_test.cpp
  LIBS ratoon::agent nlohmann_json::nlohmann_json)
ratoon_python_test(unit/agent/data/order/vectors_test)
ratoon_test(unit/agent/shuffle_quality_test
  SOURCES data/order/shuffle_measures.cpp data/order/shuffle_quality_test.cpp LIBS ratoon::agent)
ratoon_test(unit/agent/torch_order_test
  SOURCES data/order/replica_subset_test.cpp data/order/torch_distributed_sampler_test.cpp
          data/order/torch_lists_test.cpp data/order/torch_positions_test.cpp
          data/order/torch_random_sampler_test.cpp data/order/torch_random_test.cpp data/order/torch_stream_test.cpp
  LIBS failing_calls ratoon::agent LABELS threads)
ratoon_test(unit/agent/torch_order_large_test SOURCES data/order/torch_large_test.cpp LIBS ratoon::agent LABELS nightly)
ratoon_test(unit/agent/data_loader_test
  SOURCES data/loader/batch_test.cpp data/loader/current_sample_random_test.cpp data/loader/data_loader_test.cpp
          data/loader/folder_shards_test.cpp
          data/loader/loader_failures_test.cpp data/loader/loader_hints_test.cpp
          data/loader/loader_refusals_test.cpp data/loader/loader_resume_test.cpp
          data/loader/sample_random_test.cpp
  LIBS ratoon::agent nlohmann_json::nlohmann_json LABELS threads)
ratoon_test(unit/agent/loader_memory_test
  SOURCES data/loader/loader_memory_test.cpp ../../support/scarce_memory.cpp
  LIBS ratoon::agent LABELS threads)
ratoon_test(unit/agent/atomic_file_test
  SOURCES atomic_file_test.cpp ../../support/disk_watch.cpp LIBS ratoon::base_core)
ratoon_test(unit/agent/atomic_directory_test
  SOURCES atomic_directory_test.cpp ../../support/disk_watch.cpp LIBS ratoon::agent LABELS threads)
if(RATOON_WITH_HTTP)
  ratoon_test(unit/agent/metrics_test
    SOURCES metrics/endpoint_test.cpp metrics/idle_connections_test.cpp metrics/scrape_at_start_test.cpp
    LIBS ratoon::agent http_test_support LABELS threads)
  ratoon_test(unit/agent/object_rules_test
    SOURCES objects/replies_test.cpp objects/shared_files_test.cpp objects/sigv4_test.cpp LIBS ratoon::agent
            ratoon::base_http)
  ratoon_test(unit/agent/remote_store_test
    SOURCES objects/credentials_test.cpp objects/http_store_test.cpp objects/keeper_test.cpp objects/s3_store_test.cpp
            objects/s3_upload_test.cpp objects/unclear_replies_test.cpp
            ../../support/scripted_http.cpp
    LIBS ratoon::agent ratoon::base_http LABELS threads)
  ratoon_test(unit/agent/coordinator_link_test
    SOURCES session/link/coordinator_link_test.cpp session/link/coordinator_link_news_test.cpp
            session/link/coordinator_link_ends_test.cpp session/link/coordinator_link_tls_test.cpp
            session/rendezvous/peer_probe_test.cpp session/link/peer_watch_test.cpp
    LIBS certificate_support ratoon::agent ratoon::operator_coordinator LABELS threads)
endif()
if(RATOON_WITH_MDS)
  ratoon_test(unit/agent/mds_test
    SOURCES mds/compression_test.cpp mds/dataset_test.cpp mds/decode_test.cpp mds/upcoming_shards_test.cpp
            mds/golden_test.cpp mds/hash_test.cpp mds/index_test.cpp mds/loader_cache_test.cpp
            mds/open_shards_test.cpp mds/lifetimes_test.cpp mds/remote_source_test.cpp mds/shard_table_test.cpp
            mds/shard_test.cpp mds/values_test.cpp mds/verified_files_test.cpp mds/writer_test.cpp
    LIBS ratoon::agent_mds ratoon::base_contract LABELS threads)
  ratoon_test(unit/agent/mds_memory_test
    SOURCES mds/open_shards_memory_test.cpp ../../support/scarce_memory.cpp LIBS ratoon::agent_mds)
endif()
