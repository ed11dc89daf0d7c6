# What needs a GPU: built everywhere where LibTorch is, skipped with a sentence where there is none.
if(RATOON_ON_GPU)
  ratoon_test(gpu/data_on_gpu_test LIBS ratoon::agent_torch_cuda)
else()
  ratoon_test(gpu/data_on_gpu_test LIBS ratoon::agent_torch)
endif()
# What scripts/gpu runs, for a machine that has the CUDA half of LibTorch.
if(RATOON_ON_GPU)
  ratoon_program(gpu_probe
    SOURCES gpu/probe/averaging.cpp gpu/probe/bits.cpp gpu/probe/facts.cpp gpu/probe/faults.cpp gpu/probe/gpu.cpp
            gpu/probe/main.cpp gpu/probe/own_group.cpp gpu/probe/restart.cpp
    LIBS ratoon::agent_torch_cuda nlohmann_json::nlohmann_json)
  # The header of ProcessGroupNCCL includes those of cuBLAS, cuSPARSE and cuSOLVER, which LibTorch's wheel lacks.
  find_path(RATOON_CUDA_TOOLKIT_INCLUDE cublas_v2.h HINTS ${RATOON_LIBTORCH_ROOT}/nvidia/cu13/include ENV CUDA_HOME
            PATH_SUFFIXES include PATHS /usr/local/cuda)
  if(NOT RATOON_CUDA_TOOLKIT_INCLUDE)
    message(FATAL_ERROR "ratoon: cublas_v2.h was not found. gpu_probe makes a ProcessGroupNCCL, whose header includes it. \
Install CUDA's toolkit, or the packages nvidia-cublas, nvidia-cusparse and nvidia-cusolver, and configure with \
-DRATOON_CUDA_TOOLKIT_INCLUDE=FOLDER.")
  endif()
  target_include_directories(gpu_probe SYSTEM PRIVATE ${RATOON_CUDA_TOOLKIT_INCLUDE})
endif()
