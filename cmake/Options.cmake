# Every option of the build. The presets in CMakePresets.json are the combinations that are tested.
option(RATOON_DEVELOPER_MODE "Build examples, tests and benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(RATOON_INSTALL "Make install and package rules" ON)
option(RATOON_WITH_HTTP "Build base/http (needs cpprestsdk), the operator and the command line" ON)
option(RATOON_WITH_TORCH "Build ratoon::agent_torch (needs LibTorch's CPU libraries)" ON)
option(RATOON_WITH_CUDA "Build ratoon::agent_torch_cuda (needs LibTorch's CUDA libraries and NCCL)" ${RATOON_WITH_TORCH})
option(RATOON_WERROR "Treat warnings as errors" OFF)
option(RATOON_FUZZ "Build the fuzz targets (needs Clang)" OFF)
set(RATOON_SANITIZE "" CACHE STRING "Sanitizers for all targets, as in -fsanitize=: address,undefined or thread")
set(RATOON_LIBTORCH_ROOT "" CACHE PATH "Folder with torch/ and nvidia/ from the wheels; empty: where scripts/setup puts it")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
