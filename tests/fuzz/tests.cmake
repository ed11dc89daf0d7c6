# Each is build/fuzz/bin/fuzz_<name>, and goes on from tests/fuzz/corpus/<name>:
#   build/fuzz/bin/fuzz_pack -max_total_time=60 /tmp/pack-corpus tests/fuzz/corpus/pack
target_compile_options(ratoon_build_flags INTERFACE -fsanitize=fuzzer-no-link)  # what is covered guides the fuzzer
foreach(target contract pack manifest)
  ratoon_program(fuzz_${target} SOURCES fuzz/fuzz_${target}.cpp fuzz/targets.cpp LIBS ratoon::agent ratoon::base_contract)
  target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
endforeach()
