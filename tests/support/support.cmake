# What several test programs share. What replaces a function of the C library (scarce_memory, disk_watch) is not among it.
ratoon_test_support(crash_support
  SOURCES support/crash/crash_checker.cpp support/crash/crash_point.cpp support/crash/crash_states.cpp
          support/crash/loop_mount.cpp support/crash/model_disk.cpp support/crash/observed_disk.cpp
          support/crash/run_life.cpp support/crash/turns.cpp
  LIBS ratoon::agent ratoon::base_contract)
if(RATOON_WITH_HTTP)
  ratoon_test_support(certificate_support
    SOURCES conformance/support/test_certificates.cpp LIBS ratoon::base_core OpenSSL::Crypto)
endif()
if(TARGET ratoon_operator_runtime)
  # The simulated worlds and their laws, which judge the core alone and the core with its writes.
  ratoon_test_support(operator_worlds
    SOURCES property/operator/laws.cpp property/operator/laws_of_checkpoints.cpp property/operator/laws_of_ends.cpp
            property/operator/laws_of_links.cpp property/operator/laws_of_policies.cpp property/operator/laws_of_releases.cpp
            property/operator/laws_of_repetition.cpp property/operator/laws_of_starts.cpp property/operator/laws_of_worlds.cpp
            property/operator/moves.cpp property/operator/recount.cpp property/operator/simulated_agent.cpp
            property/operator/simulated_api_server.cpp property/operator/simulated_links.cpp
            property/operator/simulated_nodes.cpp property/operator/simulated_platform.cpp
            property/operator/simulated_pods.cpp property/operator/simulated_programs.cpp
            property/operator/simulated_completions.cpp property/operator/simulated_storage.cpp
            property/operator/simulated_trouble.cpp property/operator/simulated_world.cpp
    LIBS ratoon::operator_core ratoon::operator_coordinator ratoon::operator_kube)
endif()
# Calls of the C library that fail where a test says so: what a test preloads into a program.
add_library(failing_calls SHARED EXCLUDE_FROM_ALL
  support/failing_calls/channels.cpp support/failing_calls/draw.cpp support/failing_calls/files.cpp)
target_include_directories(failing_calls PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(failing_calls PRIVATE ratoon_build_flags)
set_target_properties(failing_calls PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# A sanitizer that reports a fault opens files while it holds its own locks. A check of these files would wait for them.
set_source_files_properties(support/failing_calls/channels.cpp support/failing_calls/draw.cpp
  support/failing_calls/files.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
# What is fuzzed (tests/fuzz/tests.cmake), and run on the inputs that are worth keeping in every build.
ratoon_test_support(agent_fuzz_targets
  SOURCES support/fuzz_targets.cpp support/history_fuzz_targets.cpp support/interop_fuzz_targets.cpp
          support/object_fuzz_targets.cpp support/pack_fuzz_targets.cpp support/run_fuzz_targets.cpp
          support/torch_order_fuzz_targets.cpp
  LIBS ratoon::agent ratoon::base_contract)
if(TARGET ratoon_operator_kube)
  ratoon_test_support(kube_fuzz_targets SOURCES support/kube_fuzz_targets.cpp LIBS ratoon::operator_kube)
  file(READ ${PROJECT_SOURCE_DIR}/crds/trainingjob.yaml RATOON_JOB_DEFINITION)
  configure_file(../cli/job/job_definition.cpp.in job_definition.cpp @ONLY)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/job_definition.cpp PROPERTIES
      COMPILE_OPTIONS -Wno-overlength-strings)
  endif()
  ratoon_test_support(file_fuzz_targets
    SOURCES support/file_fuzz_targets.cpp ${CMAKE_CURRENT_BINARY_DIR}/job_definition.cpp
            ../cli/job/unknown_fields.cpp ../cli/job/job_file.cpp ../cli/job/complaint_line.cpp
            ../cli/text/nearest_name.cpp ../operator/local/control/control_message.cpp
            ../operator/local/control/control_socket.cpp ../operator/local/disk_writer.cpp
            ../operator/runtime/api_server/read_yaml.cpp
    LIBS ratoon::operator_kube yaml-cpp)
  if(TARGET ratoon_base_http)
    ratoon_test_support(http_fuzz_targets SOURCES support/http_fuzz_targets.cpp LIBS ratoon::base_http)
  else()  # of it, what is fuzzed: cpprestsdk is not
    ratoon_test_support(http_parts
      SOURCES ../base/http/client/client_connection.cpp ../base/http/message.cpp
              ../base/http/server/connections_by_owner.cpp ../base/http/server/reply_buffer.cpp
              ../base/http/server/make_responder.cpp
              ../base/http/client/reply_parser.cpp ../base/http/server/reply_text.cpp
              ../base/http/server/request_parser.cpp ../base/http/server/server_core.cpp
              ../base/http/server/server_session.cpp ../base/http/server/server_socket.cpp
              ../base/http/server/unauthenticated_connections.cpp ../base/http/syntax.cpp
              ../base/http/tls/tls_client.cpp ../base/http/tls/tls_pem.cpp ../base/http/url.cpp
      LIBS ratoon::base_core Boost::system OpenSSL::SSL OpenSSL::Crypto)
    ratoon_test_support(http_fuzz_targets SOURCES support/http_fuzz_targets.cpp LIBS http_parts)
  endif()
endif()
if(RATOON_WITH_MDS)
  ratoon_test_support(mds_fuzz_targets
    SOURCES support/mds_fuzz_targets.cpp LIBS ratoon::agent_mds ratoon::base_contract)
endif()
if(RATOON_WITH_TORCH)
  # A device for LibTorch that registers itself before main(): objects, so that the linker drops none.
  add_library(accelerator_objects OBJECT EXCLUDE_FROM_ALL
    support/accelerator/allocator.cpp support/accelerator/convolution.cpp support/accelerator/copies.cpp
    support/accelerator/counts.cpp
    support/accelerator/event.cpp support/accelerator/fallback.cpp support/accelerator/faults.cpp
    support/accelerator/guard.cpp support/accelerator/hooks.cpp support/accelerator/kernels.cpp
    support/accelerator/lag.cpp support/accelerator/launch.cpp support/accelerator/map_tensors.cpp
    support/accelerator/stream.cpp support/accelerator/streams.cpp support/accelerator/tensors.cpp)
  target_include_directories(accelerator_objects PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(accelerator_objects PRIVATE ratoon_build_flags ratoon::libtorch_cpu)
  ratoon_unity(accelerator_objects)
  # What a test names among its LIBS.
  add_library(test_accelerator INTERFACE)
  target_sources(test_accelerator INTERFACE $<TARGET_OBJECTS:accelerator_objects>)
  target_link_libraries(test_accelerator INTERFACE ratoon::libtorch_cpu)
endif()
# It has the file name of NVIDIA's monitoring library, so that LD_LIBRARY_PATH can put it in that one's place.
add_library(nvml_stand_in SHARED EXCLUDE_FROM_ALL support/nvml_stand_in/nvml.cpp)
target_link_libraries(nvml_stand_in PRIVATE ratoon_build_flags)
set_target_properties(nvml_stand_in PROPERTIES OUTPUT_NAME nvidia-ml SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/nvml_stand_in)
if(RATOON_WITH_CUDA)
  # What a test names among its LIBS in place of ratoon::nccl. It has NCCL's file name, so that LD_LIBRARY_PATH can put
  # it in the place of NCCL, too.
  add_library(nccl_stand_in SHARED EXCLUDE_FROM_ALL
    support/nccl_stand_in/api_collectives.cpp support/nccl_stand_in/api_communicators.cpp
    support/nccl_stand_in/api_words.cpp support/nccl_stand_in/collective_work.cpp
    support/nccl_stand_in/communicator.cpp support/nccl_stand_in/connect_ranks.cpp
    support/nccl_stand_in/exchange.cpp support/nccl_stand_in/group.cpp support/nccl_stand_in/handles.cpp
    support/nccl_stand_in/last_words.cpp support/nccl_stand_in/loopback.cpp support/nccl_stand_in/reduce.cpp
    support/nccl_stand_in/settings.cpp support/nccl_stand_in/world_id.cpp)
  target_include_directories(nccl_stand_in PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(nccl_stand_in SYSTEM BEFORE PUBLIC
    ${PROJECT_SOURCE_DIR}/agent/src/torch/collectives/nccl/nccl_headers
    $<TARGET_PROPERTY:ratoon::nccl,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(nccl_stand_in PRIVATE ratoon::base_core ratoon_build_flags)
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/support/nccl_stand_in/exports.map)
  set_target_properties(nccl_stand_in PROPERTIES OUTPUT_NAME nccl SOVERSION 2 LINK_DEPENDS ${exports}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/nccl_stand_in)
  target_link_options(nccl_stand_in PRIVATE LINKER:--version-script=${exports}
    INTERFACE LINKER:--undefined=ratoon_test_stream_enqueue LINKER:--undefined=ratoon_test_current_device)
  ratoon_unity(nccl_stand_in)
endif()
