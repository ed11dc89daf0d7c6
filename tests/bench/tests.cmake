# Benchmarks are no tests: scripts/bench runs them. They are built where their figures mean something.
find_package(benchmark REQUIRED)
ratoon_program(bench_checksums SOURCES bench/bench_checksums.cpp LIBS ratoon::base_core benchmark::benchmark)
ratoon_program(bench_stream SOURCES bench/bench_stream.cpp LIBS ratoon::agent benchmark::benchmark)
