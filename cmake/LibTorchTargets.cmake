# Imported targets for LibTorch and NCCL, for our build and (installed beside ratoonConfig.cmake) for a consumer's.
#
#   ratoon::libtorch_cpu    headers, libtorch_cpu and libc10
#   ratoon::nccl            NCCL's library; its header for our own one file that needs it
#   ratoon::libtorch_cuda   libtorch_cuda and libc10_cuda where everything that they load is there; else only headers
include(${CMAKE_CURRENT_LIST_DIR}/LibTorchFind.cmake)

function(ratoon_import_library target file)
  add_library(${target} SHARED IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${file}")
endfunction()

# Makes ratoon::libtorch_cpu, or says in `problem` why not.
function(ratoon_import_libtorch problem)
  set(${problem} "" PARENT_SCOPE)
  if(TARGET ratoon::libtorch_cpu)
    return()
  endif()
  ratoon_find_libtorch(prefix why)
  if(why)
    set(${problem} "${why}" PARENT_SCOPE)
    return()
  endif()
  ratoon_import_library(ratoon::libtorch_cpu_library "${prefix}/lib/libtorch_cpu.so")
  ratoon_import_library(ratoon::libc10_library "${prefix}/lib/libc10.so")
  # The definitions are those that LibTorch's own targets carry. Include folders of imported targets are system ones,
  # so that warnings from there stay there.
  add_library(ratoon::libtorch_cpu INTERFACE IMPORTED)
  set_target_properties(ratoon::libtorch_cpu PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include;${prefix}/include/torch/csrc/api/include"
    INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO;USE_RPC;USE_TENSORPIPE"
    INTERFACE_LINK_LIBRARIES "ratoon::libtorch_cpu_library;ratoon::libc10_library")
endfunction()

# The libraries that the loader would miss with libtorch_cuda. The wheels of LibTorch alone come without cuBLAS, cuDNN
# and others; a program linked to libtorch_cuda would not start there, not even to say that it has no GPU.
function(ratoon_libtorch_cuda_missing prefix out)
  execute_process(COMMAND ldd "${prefix}/lib/libtorch_cuda.so" OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE result)
  string(REGEX MATCHALL "[^ \t\n]+ => not found" missing "${text}")
  list(TRANSFORM missing REPLACE " => not found" "")
  list(REMOVE_DUPLICATES missing)
  if(NOT result EQUAL 0 AND NOT missing)
    set(missing libtorch_cuda.so)
  endif()
  set(${out} "${missing}" PARENT_SCOPE)
endfunction()

# Makes ratoon::nccl and ratoon::libtorch_cuda (after ratoon_import_libtorch), or says in `problem` why not.
function(ratoon_import_libtorch_cuda problem)
  set(${problem} "" PARENT_SCOPE)
  if(TARGET ratoon::libtorch_cuda)
    return()
  endif()
  get_target_property(libtorch_cpu ratoon::libtorch_cpu_library IMPORTED_LOCATION)
  get_filename_component(prefix "${libtorch_cpu}/../.." ABSOLUTE)
  set(wheel "${prefix}/../nvidia/nccl")
  find_library(nccl NAMES libnccl.so.2 nccl HINTS "${wheel}/lib" "${prefix}/lib" NO_CACHE)
  find_path(nccl_include nccl.h HINTS "${wheel}/include" "${prefix}/include" NO_CACHE)
  if(NOT nccl OR NOT nccl_include)
    set(${problem} "NCCL (nccl.h and libnccl.so.2) was found neither in nvidia/nccl beside ${prefix} nor in the system's \
folders. ${RATOON_LIBTORCH_NEXT}" PARENT_SCOPE)
    return()
  endif()
  ratoon_import_library(ratoon::nccl "${nccl}")
  set_target_properties(ratoon::nccl PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${nccl_include}")

  add_library(ratoon::libtorch_cuda INTERFACE IMPORTED)
  set_target_properties(ratoon::libtorch_cuda PROPERTIES INTERFACE_LINK_LIBRARIES ratoon::libtorch_cpu)
  ratoon_libtorch_cuda_missing("${prefix}" missing)
  if(missing AND RATOON_ON_GPU)
    # For another machine, which has them.
    set_property(TARGET ratoon::libtorch_cuda APPEND PROPERTY INTERFACE_LINK_LIBRARIES "-Wl,--allow-shlib-undefined")
    set(missing "")
  endif()
  if(missing)
    list(LENGTH missing count)
    list(GET missing 0 first)
    message(STATUS "ratoon: libtorch_cuda is not linked, since ${count} of the libraries that it loads are not here "
                   "(${first} is one); NCCL is. Install a full LibTorch with CUDA to train on GPUs.")
  else()
    # Nothing names a symbol of libtorch_cuda: it registers itself when loaded, so the linker must not drop it.
    set_property(TARGET ratoon::libtorch_cuda APPEND PROPERTY INTERFACE_LINK_LIBRARIES
      "-Wl,--push-state,--no-as-needed,${prefix}/lib/libtorch_cuda.so,${prefix}/lib/libc10_cuda.so,--pop-state")
    set_property(TARGET ratoon::libtorch_cuda PROPERTY INTERFACE_COMPILE_DEFINITIONS USE_C10D_NCCL)
  endif()
endfunction()
