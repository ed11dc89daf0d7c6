# Each is build/fuzz/bin/fuzz_<name>, and goes on from tests/fuzz/corpus/<name>; tests/fuzz/dictionaries/<name>.dict has
# the words of its language, where it has any:
#   build/fuzz/bin/fuzz_manifest -max_total_time=60 /tmp/manifest-corpus tests/fuzz/corpus/manifest
# The target fuzz-targets builds all of them and nothing else.
target_compile_options(ratoon_build_flags INTERFACE -fsanitize=fuzzer-no-link)  # what is covered guides the fuzzer
add_custom_target(fuzz-targets)

function(ratoon_fuzz name)
  target_compile_definitions(fuzz_${name} PRIVATE FUZZ_TARGET=${name})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz-targets fuzz_${name})
endfunction()

foreach(target board claim contract history manifest objects pack_header pt_file rollback safetensors_file slot_info
               stream torch_order)
  ratoon_program(fuzz_${target} SOURCES support/fuzz_main.cpp LIBS agent_fuzz_targets)
  ratoon_fuzz(${target})
endforeach()
foreach(target kube_objects training_job watch)
  ratoon_program(fuzz_${target} SOURCES support/fuzz_main.cpp LIBS kube_fuzz_targets)
  ratoon_fuzz(${target})
endforeach()
foreach(target control job_file kubeconfig)
  ratoon_program(fuzz_${target} SOURCES support/fuzz_main.cpp LIBS file_fuzz_targets)
  ratoon_fuzz(${target})
endforeach()
foreach(target http_reply http_server)
  ratoon_program(fuzz_${target} SOURCES support/fuzz_main.cpp LIBS http_fuzz_targets)
  ratoon_fuzz(${target})
endforeach()
if(RATOON_WITH_MDS)
  foreach(target mds_compressed mds_index mds_shard)
    ratoon_program(fuzz_${target} SOURCES support/fuzz_main.cpp LIBS mds_fuzz_targets)
    ratoon_fuzz(${target})
  endforeach()
endif()
