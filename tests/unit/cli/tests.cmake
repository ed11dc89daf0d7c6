# Without HTTP there is no command line.
if(TARGET ratoon_operator_local)
  ratoon_test(unit/cli/job_file_test
    SOURCES unknown_fields_test.cpp job_file_test.cpp ../../../cli/job/unknown_fields.cpp
            ../../../cli/job/job_file.cpp ../../../cli/job/complaint_line.cpp ../../../cli/text/nearest_name.cpp
    LIBS ratoon::operator_api yaml-cpp)
  target_sources(job_file_test PRIVATE ${PROJECT_BINARY_DIR}/cli/job_definition.cpp)
  ratoon_test(unit/cli/unexpected_error_test SOURCES unexpected_error_test.cpp ../../../cli/unexpected_error.cpp
    LIBS ratoon::base_contract)
  ratoon_test(unit/cli/run_view_test
    SOURCES run/run_view_test.cpp ../../../cli/run/render_run.cpp ../../../cli/run/run_view.cpp
            ../../../cli/text/text_format.cpp
    LIBS ratoon::operator_api)
  ratoon_test(unit/cli/member_lines_test
    SOURCES run/member_lines_test.cpp run/run_end_test.cpp ../../../cli/run/member_lines.cpp
            ../../../cli/run/run_end.cpp ../../../cli/text/text_format.cpp
    LIBS ratoon::agent ratoon::operator_local nlohmann_json::nlohmann_json)
  ratoon_test(unit/cli/launch_test
    SOURCES launch/job_name_test.cpp launch/visible_devices_test.cpp ../../../cli/launch/job_name.cpp
            ../../../cli/launch/visible_devices.cpp
    LIBS ratoon::base_core)
  ratoon_test(unit/cli/cluster_status_test
    SOURCES cluster/job_status_text_test.cpp cluster/explain_refusals_test.cpp cluster/cluster_selection_test.cpp
            cluster/log_lines_test.cpp ../../../cli/cluster/log_lines.cpp
            ../../../cli/cluster/job_document.cpp ../../../cli/cluster/job_status_text.cpp
            ../../../cli/cluster/access/explain_refusals.cpp ../../../cli/cluster/access/cluster_selection.cpp
            ../../../cli/text/nearest_name.cpp ../../../cli/run/render_run.cpp ../../../cli/run/run_view.cpp
            ../../../cli/text/text_format.cpp
    LIBS ratoon::operator_kube ratoon::operator_local)
  ratoon_test(unit/cli/cluster_reader_test
    SOURCES cluster/reader_pod_test.cpp cluster/reader_state_test.cpp cluster/relayed_output_test.cpp
            ../../../cli/cluster/access/explain_refusals.cpp ../../../cli/cluster/reader/pod_refusal.cpp
            ../../../cli/cluster/reader/reader_container.cpp ../../../cli/cluster/reader/reader_pod.cpp
            ../../../cli/cluster/reader/reader_state.cpp ../../../cli/cluster/reader/relayed_output.cpp
            ../../../cli/cluster/reader/save_place.cpp ../../../cli/text/nearest_name.cpp
    LIBS ratoon::operator_kube)
  ratoon_test(unit/cli/checkpoint_commands_test
    SOURCES checkpoint/gc_test.cpp checkpoint/pins_test.cpp checkpoint/run_location_test.cpp
            checkpoint/survey_test.cpp checkpoint/export_name_test.cpp checkpoint/tensor_stream_test.cpp
            checkpoint/tensors_in_parts_test.cpp
            checkpoint/text_test.cpp ../../../cli/checkpoint/commands/export_name.cpp ../../../cli/checkpoint/gc.cpp
            ../../../cli/checkpoint/open_packs.cpp ../../../cli/checkpoint/pins.cpp
            ../../../cli/checkpoint/run_folder.cpp ../../../cli/checkpoint/run_location.cpp
            ../../../cli/checkpoint/survey.cpp ../../../cli/checkpoint/tensor_stream.cpp
            ../../../cli/checkpoint/verify_outcome.cpp ../../../cli/checkpoint/verify.cpp
            ../../../cli/text/progress.cpp ../../../cli/run/find_run.cpp ../../../cli/text/text_format.cpp
    LIBS crash_support ratoon::agent ratoon::operator_local)
  ratoon_test(unit/cli/report_test
    SOURCES report/attempt_history_test.cpp report/cluster_job_test.cpp report/render_test.cpp report/report_account_test.cpp
            report/report_test.cpp report/tensorboard_test.cpp ../../../cli/report/tensorboard.cpp
            ../../../cli/report/facts/cluster_job.cpp
            ../../../cli/report/account.cpp ../../../cli/report/ledger_bars.cpp ../../../cli/run/render_run.cpp
            ../../../cli/report/page/axis.cpp ../../../cli/report/curves.cpp ../../../cli/report/page/drawings.cpp
            ../../../cli/report/facts/run_event.cpp ../../../cli/report/page/html.cpp
            ../../../cli/report/make_report.cpp ../../../cli/report/facts/attempt_history.cpp
            ../../../cli/report/page/render.cpp ../../../cli/report/report_json.cpp
            ../../../cli/report/downsample.cpp ../../../cli/report/timeline.cpp ../../../cli/text/text_format.cpp
    LIBS ratoon::agent ratoon::operator_kube ratoon::operator_local nlohmann_json::nlohmann_json)
endif()
