ratoon_test(unit/agent/checkpoint_test
  SOURCES checkpoint/bad_way_test.cpp checkpoint/commit_looks_test.cpp checkpoint/file_names_test.cpp
          checkpoint/golden_run_test.cpp checkpoint/lost_manifests_test.cpp checkpoint/manifest_test.cpp
          checkpoint/open_files_test.cpp checkpoint/pins_test.cpp checkpoint/retention_test.cpp
          checkpoint/rollback_test.cpp checkpoint/run_store_test.cpp checkpoint/strange_folder_test.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/tiers_test
  SOURCES checkpoint/tiers/claim_test.cpp checkpoint/tiers/claim_rules_test.cpp
          checkpoint/tiers/latest_test.cpp checkpoint/tiers/lineage_test.cpp
          checkpoint/tiers/load_path_test.cpp checkpoint/tiers/mirror_worker_test.cpp
          checkpoint/tiers/name_pattern_test.cpp checkpoint/tiers/old_names_test.cpp
          checkpoint/tiers/resume_choice_test.cpp
          checkpoint/tiers/store_disk_test.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/pack_test
  SOURCES checkpoint/pack/cover_test.cpp checkpoint/pack/golden_test.cpp checkpoint/pack/header_test.cpp
          checkpoint/pack/layout_test.cpp checkpoint/pack/read_plan_test.cpp
  LIBS ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/disk_test
  SOURCES checkpoint/disk/direct_writes_test.cpp checkpoint/disk/durable_test.cpp checkpoint/disk/patient_calls_test.cpp
          checkpoint/disk/patient_disk_test.cpp checkpoint/disk/read_directly_test.cpp checkpoint/disk/real_disk_test.cpp
          checkpoint/disk/replacing_file_test.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/load_test
  SOURCES checkpoint/load/checkpoint_reader_test.cpp checkpoint/load/on_threads_test.cpp
  LIBS ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/staging_test
  SOURCES checkpoint/staging/adoption_test.cpp checkpoint/staging/copy_test.cpp checkpoint/staging/filling_test.cpp
          checkpoint/staging/more_slots_test.cpp checkpoint/staging/saver_of_two_test.cpp checkpoint/staging/saver_test.cpp
          checkpoint/staging/short_of_room_test.cpp checkpoint/staging/slot_test.cpp checkpoint/staging/soak_test.cpp
          checkpoint/staging/streaming_copy_test.cpp checkpoint/staging/writer_throws_test.cpp
          checkpoint/sums_beside_test.cpp
  LIBS crash_support failing_calls ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/interop_test
  SOURCES checkpoint/interop/golden_test.cpp checkpoint/interop/pickle_reader_test.cpp
          checkpoint/interop/pt_writer_test.cpp checkpoint/interop/stored_tensor_test.cpp
          checkpoint/interop/zip_reader_test.cpp
  LIBS ratoon::agent nlohmann_json::nlohmann_json)
ratoon_test(unit/agent/interop_large_test SOURCES checkpoint/interop/large_test.cpp
  LIBS ratoon::agent nlohmann_json::nlohmann_json LABELS long TIMEOUT 600)
ratoon_test(unit/agent/session_test
  SOURCES session/drain_test.cpp session/engine_drain_test.cpp session/engine_means_test.cpp
          session/engine_durable_test.cpp session/engine_phases_test.cpp session/signals_test.cpp
          session/engine_test.cpp session/history_writer_test.cpp session/in_place_test.cpp session/joining_test.cpp
          session/own_address_test.cpp session/ownership_test.cpp session/ticket_test.cpp
          session/leaving_test.cpp session/meeting_socket_test.cpp session/options_test.cpp
          session/launcher_variables_test.cpp session/places_test.cpp
          session/tracked_objects_test.cpp session/train_counts_test.cpp session/train_ledger_test.cpp
          session/train_ends_test.cpp session/train_returns_test.cpp session/train_rollback_test.cpp
          session/train_saves_test.cpp session/first_state_test.cpp
          session/wish_list_test.cpp
          session/engine_asks_test.cpp session/engine_at_end_test.cpp session/mirrors_test.cpp session/train_seed_test.cpp
          session/train_strange_folder_test.cpp
          session/train_test.cpp session/train_threads_test.cpp
          session/train_untracked_test.cpp session/load_test.cpp session/load_from_test.cpp
  LIBS crash_support failing_calls ratoon::agent ratoon::base_contract LABELS threads)
ratoon_test(unit/agent/session_begin_test
  SOURCES session/autoresume_test.cpp session/forked_session_test.cpp session/load_seed_test.cpp session/train_data_test.cpp
          session/train_names_test.cpp LIBS ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/group_link_test
  SOURCES session/group_ends_test.cpp session/group_link_test.cpp session/group_secret_test.cpp
  LIBS ratoon::agent ratoon::base_contract LABELS threads)
# What a session is made of, without a session: pure rules, and the thin edges around them.
ratoon_test(unit/agent/session_rules_test
  SOURCES history/history_file_test.cpp history/history_test.cpp
          history/last_row_test.cpp session/accounts_test.cpp session/rank_means_test.cpp session/run_ledger_test.cpp
          preemption/drain_plan_test.cpp preemption/notices_test.cpp preemption/save_interval_test.cpp
          metrics/running_metrics_test.cpp progress/progress_bar_test.cpp progress/render_test.cpp
          session/amount_test.cpp session/course_test.cpp session/folder_lock_test.cpp
          session/held_lock_test.cpp session/identity_test.cpp session/ledger_test.cpp session/near_flags_test.cpp
          session/numerics_watch_test.cpp
          session/phase_watch_test.cpp session/place_options_test.cpp session/rollback_plan_test.cpp
          session/seat_wait_test.cpp session/seed_of_test.cpp session/spoken_wait_test.cpp session/until_test.cpp
  LIBS crash_support failing_calls ratoon::agent ratoon::base_contract)
ratoon_test(unit/agent/devices_rules_test
  SOURCES devices/fault_decision_test.cpp devices/missing_device_test.cpp devices/xids_test.cpp LIBS ratoon::agent)
ratoon_test(unit/agent/board_test
  SOURCES board/client_test.cpp board/connections_test.cpp board/frame_test.cpp board/handshake_test.cpp
          board/notes_test.cpp board/server_test.cpp board/unproven_test.cpp
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
          data/order/permutation_test.cpp data/order/plan_test.cpp data/order/resume_test.cpp
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
  SOURCES data/loader/batch_test.cpp data/loader/data_loader_test.cpp data/loader/folder_shards_test.cpp
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
    SOURCES metrics/endpoint_test.cpp metrics/scrape_at_start_test.cpp
    LIBS ratoon::agent ratoon::base_http LABELS threads)
  ratoon_test(unit/agent/object_rules_test
    SOURCES objects/replies_test.cpp objects/shared_files_test.cpp objects/sigv4_test.cpp LIBS ratoon::agent ratoon::base_http)
  ratoon_test(unit/agent/remote_store_test
    SOURCES objects/credentials_test.cpp objects/http_store_test.cpp objects/keeper_test.cpp objects/s3_store_test.cpp
            objects/s3_upload_test.cpp objects/unclear_replies_test.cpp
            ../../support/scripted_http.cpp
    LIBS ratoon::agent ratoon::base_http LABELS threads)
  ratoon_test(unit/agent/coordinator_link_test
    SOURCES session/coordinator_link_test.cpp session/coordinator_link_news_test.cpp
            session/coordinator_link_ends_test.cpp session/coordinator_link_tls_test.cpp
    LIBS certificate_support ratoon::agent ratoon::operator_coordinator LABELS threads)
endif()
if(RATOON_WITH_MDS)
  ratoon_test(unit/agent/mds_test
    SOURCES mds/compression_test.cpp mds/dataset_test.cpp mds/decode_test.cpp mds/future_test.cpp mds/golden_test.cpp
            mds/hash_test.cpp mds/index_test.cpp mds/loader_cache_test.cpp mds/open_shards_test.cpp
            mds/lifetimes_test.cpp mds/remote_source_test.cpp mds/shard_table_test.cpp mds/shard_test.cpp mds/values_test.cpp
            mds/verified_files_test.cpp mds/writer_test.cpp
    LIBS ratoon::agent_mds ratoon::base_contract LABELS threads)
  ratoon_test(unit/agent/mds_memory_test
    SOURCES mds/open_shards_memory_test.cpp ../../support/scarce_memory.cpp LIBS ratoon::agent_mds)
endif()
