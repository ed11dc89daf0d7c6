# Each is build/fuzz/bin/fuzz_<name>, and goes on from tests/fuzz/corpus/<name>:
#   build/fuzz/bin/fuzz_manifest -max_total_time=60 /tmp/manifest-corpus tests/fuzz/corpus/manifest
target_compile_options(ratoon_build_flags INTERFACE -fsanitize=fuzzer-no-link)  # what is covered guides the fuzzer
foreach(target board claim contract manifest objects pack_header pt_file rollback safetensors_file slot_info stream
               torch_order)
  ratoon_program(fuzz_${target}
    SOURCES support/fuzz_main.cpp support/fuzz_targets.cpp support/object_fuzz_targets.cpp
            support/interop_fuzz_targets.cpp support/pack_fuzz_targets.cpp support/run_fuzz_targets.cpp
            support/torch_order_fuzz_targets.cpp
    LIBS ratoon::agent ratoon::base_contract)
  target_compile_definitions(fuzz_${target} PRIVATE FUZZ_TARGET=${target})
  target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
endforeach()
foreach(target kube_objects training_job watch)
  ratoon_program(fuzz_${target}
    SOURCES support/fuzz_main.cpp support/kube_fuzz_targets.cpp LIBS ratoon::operator_kube)
  target_compile_definitions(fuzz_${target} PRIVATE FUZZ_TARGET=${target})
  target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
endforeach()
if(RATOON_WITH_MDS)
  foreach(target mds_compressed mds_index mds_shard)
    ratoon_program(fuzz_${target}
      SOURCES support/fuzz_main.cpp support/mds_fuzz_targets.cpp LIBS ratoon::agent_mds ratoon::base_contract)
    target_compile_definitions(fuzz_${target} PRIVATE FUZZ_TARGET=${target})
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()
