# Without HTTP there is no operator.
if(TARGET ratoon_operator_core)
  ratoon_test(unit/operator/operator_core_test
    SOURCES core/backoff_test.cpp core/fresh_start_test.cpp core/classify_test.cpp core/conditions_test.cpp
            core/deadlines_test.cpp core/time_limit_test.cpp core/elastic_test.cpp core/end_policies_test.cpp
            core/gang_test.cpp core/agentless_group_start_test.cpp core/agentless_group_test.cpp core/hang_test.cpp
            core/last_failure_test.cpp core/launched_test.cpp
            core/lasting_disruptions_test.cpp core/ledger_test.cpp core/noted_checkpoint_test.cpp core/notice_rules_test.cpp
            core/notice_test.cpp
            core/pitfalls_test.cpp core/progress_test.cpp core/external_cause_test.cpp core/providers_words_test.cpp
            core/reconcile_test.cpp core/recovery_test.cpp core/release_nodes_test.cpp core/repeated_fault_test.cpp
            core/restart_rules_test.cpp
            core/roster_test.cpp core/shared_volume_claim_test.cpp core/faulty_nodes_test.cpp
            core/forgotten_world_test.cpp core/silence_test.cpp core/suspect_nodes_test.cpp
            core/suspend_test.cpp core/unreachable_test.cpp core/waiting_reason_test.cpp core/wake_time_test.cpp
    LIBS ratoon::operator_core)
  ratoon_test(unit/operator/training_job_test
    SOURCES api/policies_test.cpp api/trainer_environment_test.cpp api/training_amount_test.cpp api/variables_test.cpp
            training_job_test.cpp
    LIBS ratoon::operator_api ratoon::agent)
  ratoon_test(unit/operator/coordinator_test
    SOURCES coordinator/coordinator_fairness_test.cpp coordinator/coordinator_test.cpp
            coordinator/job_session_completions_test.cpp coordinator/job_session_lists_test.cpp
            coordinator/job_session_peers_test.cpp coordinator/job_session_test.cpp
    LIBS http_test_support ratoon::operator_coordinator LABELS threads)
  ratoon_test(unit/operator/operator_kube_test
    SOURCES kube/api_server_access_test.cpp kube/answers_test.cpp kube/codecs_test.cpp
            kube/credential_plugin_test.cpp kube/election_test.cpp kube/member_pod_test.cpp kube/placement_test.cpp
            kube/kubelets_words_test.cpp kube/launcher_container_test.cpp kube/pruning_test.cpp kube/request_test.cpp
            kube/watch_decoder_test.cpp
    LIBS ratoon::operator_kube)
  ratoon_test(unit/operator/operator_runtime_test
    SOURCES runtime/broken_job_test.cpp runtime/controller_test.cpp runtime/serving_certificate_test.cpp
            runtime/admission_separation_test.cpp runtime/elector_test.cpp runtime/event_filter_test.cpp
            runtime/fence_test.cpp runtime/installation_check_test.cpp runtime/member_check_test.cpp
            runtime/metrics_page_test.cpp runtime/notice_config_test.cpp runtime/open_files_test.cpp
            runtime/operator_config_test.cpp runtime/process_limit_test.cpp runtime/status_ports_test.cpp
            runtime/operator_metrics_test.cpp runtime/status_debounce_test.cpp runtime/plugin_credentials_test.cpp
            runtime/admission_queue_test.cpp runtime/pruned_fields_test.cpp runtime/self_metrics_test.cpp
            runtime/job_cache_test.cpp runtime/token_reviewer_test.cpp runtime/ca_reloading_transport_test.cpp
            runtime/discovery_test.cpp runtime/certificate_plan_test.cpp runtime/reviewed_tokens_test.cpp
            runtime/secret_certificate_test.cpp runtime/event_writer_test.cpp scheduling/requested_pauses_test.cpp
            scheduling/fair_queue_test.cpp scheduling/round_robin_queue_test.cpp scheduling/work_queue_test.cpp
    LIBS certificate_support http_test_support ratoon::operator_runtime LABELS threads PARTS 3)
  ratoon_test(unit/operator/operator_threads_test
    SOURCES threads/api_server_in_memory.cpp threads/operator_threads_test.cpp
    LIBS ratoon::operator_runtime ratoon::agent LABELS threads)
  ratoon_test(unit/operator/separation_law_test
    SOURCES threads/api_server_in_memory.cpp threads/separation_law_test.cpp
    LIBS http_test_support ratoon::operator_runtime ratoon::agent)
  ratoon_test(unit/operator/operator_local_test
    SOURCES local/run_start_test.cpp local/cgroups_test.cpp local/cluster_only_fields_test.cpp
            local/control_socket_test.cpp local/find_program_test.cpp local/kernel_cgroups_test.cpp
            local/last_lines_test.cpp local/loss_schedule_test.cpp local/local_cluster_test.cpp
            local/member_plan_test.cpp local/node_pool_test.cpp local/process_group_test.cpp
            local/machine_capacity_test.cpp local/run_journal_test.cpp local/run_events_test.cpp
            local/run_exit_test.cpp local/run_folder_test.cpp local/run_console_test.cpp
            local/save_location_test.cpp local/staging_folder_test.cpp local/status_file_test.cpp
            local/disk_writer_test.cpp local/member_logs_test.cpp
            local/runner_wakeup_test.cpp local/metrics_ports_test.cpp
    LIBS ratoon::operator_local)
endif()
