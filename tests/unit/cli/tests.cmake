# Without HTTP there is no command line.
if(TARGET ratoon_operator_local)
  ratoon_test(unit/cli/job_file_test
    SOURCES job_fields_test.cpp job_file_test.cpp ../../../cli/job_fields.cpp ../../../cli/job_file.cpp
            ../../../cli/job_lines.cpp ../../../cli/nearest.cpp
    LIBS ratoon::operator_api yaml-cpp)
  target_sources(job_file_test PRIVATE ${PROJECT_BINARY_DIR}/cli/job_definition.cpp)
  ratoon_test(unit/cli/unforeseen_test SOURCES unforeseen_test.cpp ../../../cli/unforeseen.cpp LIBS ratoon::base_contract)
  ratoon_test(unit/cli/supervision_test SOURCES launch/supervision_test.cpp ../../../cli/launch/supervision.cpp
    LIBS ratoon::base_contract)
  ratoon_test(unit/cli/run_view_test
    SOURCES run/run_view_test.cpp ../../../cli/run/render_run.cpp ../../../cli/run/run_view.cpp ../../../cli/text.cpp
    LIBS ratoon::operator_api)
  ratoon_test(unit/cli/cluster_status_test
    SOURCES cluster/job_pages_test.cpp cluster/refusals_test.cpp cluster/wish_test.cpp
            ../../../cli/cluster/job_document.cpp ../../../cli/cluster/job_pages.cpp ../../../cli/cluster/refusals.cpp
            ../../../cli/cluster/wish.cpp ../../../cli/nearest.cpp ../../../cli/run/render_run.cpp
            ../../../cli/run/run_view.cpp ../../../cli/text.cpp
    LIBS ratoon::operator_kube ratoon::operator_local)
  ratoon_test(unit/cli/checkpoint_commands_test
    SOURCES checkpoint/gc_test.cpp checkpoint/pins_test.cpp checkpoint/run_place_test.cpp checkpoint/survey_test.cpp
            checkpoint/export_name_test.cpp checkpoint/tensor_stream_test.cpp checkpoint/text_test.cpp
            ../../../cli/checkpoint/export_name.cpp ../../../cli/checkpoint/gc.cpp
            ../../../cli/checkpoint/open_packs.cpp ../../../cli/checkpoint/pins.cpp
            ../../../cli/checkpoint/run_folder.cpp ../../../cli/checkpoint/run_place.cpp
            ../../../cli/checkpoint/survey.cpp
            ../../../cli/checkpoint/tensor_stream.cpp ../../../cli/checkpoint/verdict.cpp
            ../../../cli/checkpoint/verify.cpp ../../../cli/progress.cpp ../../../cli/run/find_run.cpp
            ../../../cli/text.cpp
    LIBS crash_support ratoon::agent ratoon::operator_local)
  ratoon_test(unit/cli/report_test
    SOURCES report/past_test.cpp report/render_test.cpp report/report_test.cpp
            ../../../cli/report/axis.cpp ../../../cli/report/curves.cpp ../../../cli/report/drawings.cpp
            ../../../cli/report/event.cpp ../../../cli/report/html.cpp ../../../cli/report/make_report.cpp
            ../../../cli/report/past.cpp ../../../cli/report/render.cpp ../../../cli/report/report_json.cpp
            ../../../cli/report/thin.cpp ../../../cli/report/timeline.cpp ../../../cli/text.cpp
    LIBS ratoon::agent ratoon::operator_local nlohmann_json::nlohmann_json)
endif()
