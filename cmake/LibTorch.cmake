# LibTorch for this build: the targets of LibTorchTargets.cmake, or the end of configuring with a sentence.
include(LibTorchTargets)

ratoon_import_libtorch(RATOON_LIBTORCH_PROBLEM)
if(NOT RATOON_LIBTORCH_PROBLEM AND RATOON_WITH_CUDA)
  ratoon_import_libtorch_cuda(RATOON_LIBTORCH_PROBLEM)
endif()
if(RATOON_LIBTORCH_PROBLEM)
  message(FATAL_ERROR "ratoon: ${RATOON_LIBTORCH_PROBLEM}")
endif()
