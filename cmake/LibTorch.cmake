# LibTorch for this build: the targets of LibTorchTargets.cmake, or the end of configuring with a sentence. With
# RATOON_TORCH_IF_FOUND the build goes on without it.
include(LibTorchTargets)

ratoon_import_libtorch(RATOON_LIBTORCH_PROBLEM)
if(NOT RATOON_LIBTORCH_PROBLEM AND RATOON_WITH_CUDA)
  ratoon_import_libtorch_cuda(RATOON_LIBTORCH_PROBLEM)
endif()
# LibTorch has Gloo inside, and of its headers only those that name Gloo's. Users of an installed tree need neither.
find_path(RATOON_GLOO_INCLUDE gloo/context.h)
if(NOT RATOON_LIBTORCH_PROBLEM AND NOT RATOON_GLOO_INCLUDE)
  set(RATOON_LIBTORCH_PROBLEM "gloo/context.h was not found; it is needed to average gradients (Debian: libgloo-dev). \
${RATOON_LIBTORCH_NEXT}")
endif()
if(RATOON_LIBTORCH_PROBLEM AND RATOON_TORCH_IF_FOUND)
  message(STATUS "ratoon: without LibTorch: ${RATOON_LIBTORCH_PROBLEM}")
  set(RATOON_WITH_TORCH OFF)
elseif(RATOON_LIBTORCH_PROBLEM)
  message(FATAL_ERROR "ratoon: ${RATOON_LIBTORCH_PROBLEM}")
endif()
