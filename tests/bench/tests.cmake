# Benchmarks are no tests: scripts/bench runs them. They are built where their figures mean something.
find_package(benchmark REQUIRED)
ratoon_program(bench_checksums SOURCES bench/bench_checksums.cpp LIBS ratoon::base_core benchmark::benchmark)
ratoon_program(bench_stream SOURCES bench/bench_stream.cpp LIBS ratoon::agent benchmark::benchmark)
if(RATOON_WITH_MDS)
  ratoon_program(bench_mds
    SOURCES bench/bench_mds.cpp LIBS ratoon::agent_mds ratoon::base_contract ratoon::base_core benchmark::benchmark)
  ratoon_program(bench_loader SOURCES bench/bench_loader.cpp LIBS ratoon::agent_mds benchmark::benchmark)
endif()
ratoon_program(bench_checkpoint_save
  SOURCES bench/bench_checkpoint_save.cpp LIBS ratoon::agent ratoon::base_contract benchmark::benchmark)
ratoon_program(bench_pack SOURCES bench/bench_pack.cpp LIBS ratoon::agent benchmark::benchmark)
ratoon_program(bench_progress SOURCES bench/bench_progress.cpp LIBS ratoon::agent ratoon::base_contract benchmark::benchmark)
if(RATOON_WITH_HTTP)
  ratoon_program(bench_session SOURCES bench/bench_session.cpp LIBS ratoon::agent ratoon::base_contract benchmark::benchmark)
endif()
if(TARGET ratoon_operator_runtime)
  ratoon_program(bench_operator SOURCES bench/bench_operator.cpp LIBS ratoon::operator_runtime benchmark::benchmark)
  ratoon_program(bench_reconcile SOURCES bench/bench_reconcile.cpp LIBS ratoon::operator_core benchmark::benchmark)
  ratoon_program(bench_job_session SOURCES bench/bench_job_session.cpp LIBS ratoon::operator_coordinator
    benchmark::benchmark)
  ratoon_program(bench_coordinator
    SOURCES bench/bench_coordinator.cpp conformance/support/raw_socket.cpp conformance/support/test_certificates.cpp
    LIBS ratoon::operator_runtime benchmark::benchmark)
endif()
ratoon_program(bench_torch_order SOURCES bench/bench_torch_order.cpp LIBS ratoon::agent benchmark::benchmark)
ratoon_program(bench_checkpoint_load
  SOURCES bench/bench_checkpoint_load.cpp LIBS ratoon::agent ratoon::base_contract benchmark::benchmark)
if(RATOON_WITH_TORCH)
  ratoon_program(bench_averaging SOURCES bench/bench_averaging.cpp LIBS ratoon::agent_torch benchmark::benchmark)
endif()
