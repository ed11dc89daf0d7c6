# What needs a GPU: built everywhere where LibTorch is, skipped with a sentence where there is none.
if(RATOON_ON_GPU)
  ratoon_test(gpu/data_on_gpu_test LIBS ratoon::agent_torch_cuda)
else()
  ratoon_test(gpu/data_on_gpu_test LIBS ratoon::agent_torch)
endif()
# The files of gpu_probe, except one that needs CUDA's toolkit, are compiled wherever LibTorch is, because no machine of
# CI links gpu_probe: they must fit the code that they call.
add_library(gpu_probe_objects OBJECT
  gpu/probe/averaging.cpp gpu/probe/bits.cpp gpu/probe/facts.cpp gpu/probe/faults.cpp gpu/probe/gpu.cpp
  gpu/probe/main.cpp gpu/probe/restart.cpp)
target_include_directories(gpu_probe_objects PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(gpu_probe_objects PRIVATE ratoon_build_flags ratoon::agent_torch nlohmann_json::nlohmann_json)
ratoon_unity(gpu_probe_objects)
# What scripts/gpu runs, for a machine that has the CUDA half of LibTorch.
if(RATOON_ON_GPU)
  ratoon_program(gpu_probe
    SOURCES gpu/probe/own_group.cpp
    LIBS ratoon::agent_torch_cuda nlohmann_json::nlohmann_json)
  target_sources(gpu_probe PRIVATE $<TARGET_OBJECTS:gpu_probe_objects>)
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
