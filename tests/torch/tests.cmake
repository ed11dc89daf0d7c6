# Included by tests/CMakeLists.txt where RATOON_WITH_TORCH is on.
ratoon_test(torch/tensor_bytes_test LIBS ratoon::agent_torch)
ratoon_test(torch/digest_test LIBS ratoon::agent_torch)
ratoon_test(torch/track_test LIBS ratoon::agent_torch ratoon::base_contract)
ratoon_test(torch/track_state_test LIBS ratoon::agent_torch ratoon::base_contract)
ratoon_test(torch/atomic_save_test LIBS ratoon::agent_torch)
ratoon_test(torch/batch_tensor_test LIBS ratoon::agent_torch)
ratoon_test(torch/dataset_batches_test LIBS ratoon::agent_torch)
ratoon_test(torch/order_sampler_test LIBS ratoon::agent_torch)
ratoon_test(torch/stream_sampler_test LIBS ratoon::agent_torch)
ratoon_test(torch/own_loop_test LIBS ratoon::agent_torch)
ratoon_test(torch/gradient_buckets_test LIBS ratoon::agent_torch)
ratoon_test(torch/gradient_watch_test LIBS ratoon::agent_torch)
ratoon_test(torch/device_errors_test LIBS ratoon::agent_torch)
add_dependencies(device_errors_test nvml_stand_in)
set_tests_properties(torch.device_errors_test PROPERTIES ENVIRONMENT
  "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:nvml_stand_in>")
ratoon_test(torch/weights_fingerprint_test LIBS test_accelerator ratoon::agent_torch)
ratoon_test(torch/group_collective_test LIBS ratoon::agent_torch)
ratoon_test(torch/group_connector_test LIBS ratoon::agent_torch ratoon::base_core)
ratoon_test(torch/accelerator_test LIBS test_accelerator)
ratoon_test(torch/on_accelerator_test
  SOURCES device_memory_on_accelerator_test.cpp loss_scaler_on_accelerator_test.cpp to_device_on_accelerator_test.cpp
  LIBS test_accelerator ratoon::agent_torch ratoon::base_contract)
ratoon_test(torch/numerics_test LIBS ratoon::agent_torch)
ratoon_test(torch/no_names_test LIBS ratoon::agent_torch ratoon::base_core)
ratoon_program(loss_scaler_probe SOURCES torch/loss_scaler_probe.cpp LIBS ratoon::agent_torch)
ratoon_python_test(torch/loss_scaler_test)
ratoon_program(cpp_archives SOURCES torch/cpp_archives.cpp LIBS ratoon::agent_torch)
ratoon_python_test(torch/cpp_archives_test)
ratoon_program(read_archive SOURCES torch/read_archive.cpp LIBS ratoon::agent_torch)
ratoon_python_test(torch/exports_read_test)
if(RATOON_WITH_CUDA)
  ratoon_test(torch/nccl_test LIBS ratoon::agent_torch_cuda)
  # The files that call NCCL, over what stands for it.
  ratoon_test(torch/device_collective_test
    SOURCES device_collective_test.cpp ../support/nccl_of_threads.cpp
            ../../agent/src/torch/collectives/nccl/nccl_collective.cpp
            ../../agent/src/torch/collectives/nccl/nccl_communicator.cpp
            ../../agent/src/torch/collectives/nccl/nccl_version.cpp
    LIBS test_accelerator ratoon::agent_torch ratoon::base_contract)
  target_include_directories(device_collective_test BEFORE PRIVATE
    ${PROJECT_SOURCE_DIR}/agent/src/torch/collectives/nccl/nccl_headers)
  target_include_directories(device_collective_test SYSTEM PRIVATE
    $<TARGET_PROPERTY:ratoon::nccl,INTERFACE_INCLUDE_DIRECTORIES>)
  ratoon_test(torch/averager_test
    SOURCES averager_test.cpp ../support/nccl_of_threads.cpp
            ../../agent/src/torch/collectives/nccl/nccl_collective.cpp
            ../../agent/src/torch/collectives/nccl/nccl_communicator.cpp
            ../../agent/src/torch/collectives/nccl/nccl_version.cpp
    LIBS test_accelerator ratoon::agent_torch ratoon::base_contract)
  target_include_directories(averager_test BEFORE PRIVATE
    ${PROJECT_SOURCE_DIR}/agent/src/torch/collectives/nccl/nccl_headers)
  target_include_directories(averager_test SYSTEM PRIVATE $<TARGET_PROPERTY:ratoon::nccl,INTERFACE_INCLUDE_DIRECTORIES>)
  ratoon_test(torch/nccl_stand_in_test LIBS nccl_stand_in ratoon::libtorch_cpu)
  ratoon_test(torch/nccl_stand_in_faults_test LIBS nccl_stand_in)
  # An example as it is on GPUs: on the test accelerator, and over the stand-in for NCCL.
  ratoon_program(digits_on_accelerator
    SOURCES torch/gated_digits.cpp support/accelerator_nccl.cpp
            ../agent/src/torch/collectives/nccl/nccl_collective.cpp
            ../agent/src/torch/collectives/nccl/nccl_communicator.cpp
            ../agent/src/torch/collectives/nccl/nccl_version.cpp
    LIBS digits_net test_accelerator nccl_stand_in ratoon::agent_torch ratoon::base_contract)
  target_include_directories(digits_on_accelerator BEFORE PRIVATE
    ${PROJECT_SOURCE_DIR}/agent/src/torch/collectives/nccl/nccl_headers)
endif()
if(RATOON_WITH_HTTP)
  ratoon_program(average_probe SOURCES torch/average_probe.cpp LIBS ratoon::agent_torch)
  ratoon_program(average_during_probe SOURCES torch/average_during_probe.cpp LIBS ratoon::agent_torch)
  ratoon_python_test(torch/average_during_test)
  ratoon_program(loops_probe SOURCES torch/loops_probe.cpp LIBS digits_net ratoon::agent_torch)
  ratoon_python_test(torch/loops_test)
  ratoon_program(own_group_probe SOURCES torch/own_group_probe.cpp LIBS ratoon::agent_torch)
  ratoon_python_test(torch/own_group_test)
  ratoon_program(exactness_probe SOURCES torch/exactness_probe.cpp LIBS ratoon::agent_torch)
  ratoon_python_test(torch/exactness_test)
  ratoon_program(attempts_probe SOURCES torch/attempts_probe.cpp LIBS ratoon::agent_torch)
  ratoon_python_test(torch/attempts_test)
  ratoon_python_test(torch/attempts_nightly_test LABELS nightly)
  ratoon_program(given_up_probe SOURCES torch/given_up_probe.cpp LIBS ratoon::agent_torch)
  ratoon_python_test(torch/given_up_test)
  ratoon_program(board_probe SOURCES torch/board_probe.cpp LIBS ratoon::agent_torch)
  ratoon_python_test(torch/board_attacks_nightly_test LABELS nightly TIMEOUT 3600)
  ratoon_program(gated_digits SOURCES torch/gated_digits.cpp LIBS digits_net ratoon::agent_torch)
  ratoon_program(gated_charlm SOURCES torch/gated_charlm.cpp LIBS charlm_gpt ratoon::agent_torch)
  ratoon_python_test(torch/digits_run_test)
  if(RATOON_WITH_CUDA)
    ratoon_python_test(torch/accelerator_run_test)
    add_dependencies(digits_on_accelerator nvml_stand_in)
  endif()
  ratoon_python_test(torch/digits_kill_test)
  ratoon_python_test(torch/digits_kill_nightly_test LABELS nightly TIMEOUT 3600)
  ratoon_python_test(torch/charlm_run_test)
  ratoon_python_test(torch/quickstart_test)
  ratoon_python_test(torch/twins_test)
  ratoon_python_test(torch/resize_test)
  ratoon_python_test(torch/deterministic_test)
  ratoon_python_test(torch/evaluate_test)
  ratoon_python_test(torch/examples_test)
  ratoon_python_test(torch/examples_nightly_test LABELS nightly TIMEOUT 3600)
  if(RATOON_WITH_MDS)
    include(torch/snippets/tests.cmake)
  endif()
endif()
ratoon_python_test(torch/no_gloo_classes_test)
