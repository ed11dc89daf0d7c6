# Where LibTorch is and whether it fits. A misfit ends in one sentence with the next command. Installed beside
# ratoonConfig.cmake, so that a consumer's build finds LibTorch by the same rules.
#
# The first of these that is set decides, and a wrong LibTorch there is an error, never skipped for a later one:
# RATOON_LIBTORCH_ROOT (CMake, then environment), Torch_DIR, CMAKE_PREFIX_PATH, the cache that scripts/setup fills.
# TorchConfig.cmake is only located, not run: it stops where no CUDA toolkit is, and the folder around it is all we need.

# Tried with 2.11.0. LibTorch promises no binary compatibility between minor versions, and the agent's static libraries
# are compiled against one: another minor version needs another build of Ratoon, and its tests run again.
set(RATOON_LIBTORCH_VERSION_WANTED 2.11)
if(NOT RATOON_LIBTORCH_NEXT)
  set(RATOON_LIBTORCH_NEXT "Run scripts/setup --only build and configure again, or configure with \
-DRATOON_LIBTORCH_ROOT=FOLDER of LibTorch ${RATOON_LIBTORCH_VERSION_WANTED}, or with -DRATOON_WITH_TORCH=OFF.")
endif()

# The folder with include/ and lib/: `root` itself, or torch/ in it as wheels are laid out.
function(ratoon_libtorch_prefix root out)
  foreach(prefix "${root}/torch" "${root}")
    if(EXISTS "${prefix}/lib/libtorch_cpu.so")
      get_filename_component(prefix "${prefix}" REALPATH)
      set(${out} "${prefix}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} "" PARENT_SCOPE)
endfunction()

function(ratoon_locate_libtorch out problem)
  set(${problem} "" PARENT_SCOPE)
  set(cache "$ENV{XDG_CACHE_HOME}")
  if(NOT cache)
    set(cache "$ENV{HOME}/.cache")
  endif()
  find_path(config TorchConfig.cmake PATHS ${Torch_DIR} ${CMAKE_PREFIX_PATH} ENV CMAKE_PREFIX_PATH
            PATH_SUFFIXES share/cmake/Torch torch/share/cmake/Torch Torch NO_DEFAULT_PATH NO_CACHE)

  if(RATOON_LIBTORCH_ROOT)
    set(root "${RATOON_LIBTORCH_ROOT}")
    set(who "RATOON_LIBTORCH_ROOT names ${root}")
  elseif(DEFINED ENV{RATOON_LIBTORCH_ROOT})
    set(root "$ENV{RATOON_LIBTORCH_ROOT}")
    set(who "the environment's RATOON_LIBTORCH_ROOT names ${root}")
  elseif(config)
    get_filename_component(root "${config}/../../.." ABSOLUTE)
    set(who "Torch_DIR or CMAKE_PREFIX_PATH names ${root}")
  else()
    set(root "${cache}/ratoon/libtorch-2.11.0")
    set(who "nothing names one, and scripts/setup would have put it in ${root}")
  endif()
  ratoon_libtorch_prefix("${root}" prefix)
  if(NOT prefix)
    set(${problem} "LibTorch was not found: ${who}, where no lib/libtorch_cpu.so is." PARENT_SCOPE)
  endif()
  set(${out} "${prefix}" PARENT_SCOPE)
endfunction()

function(ratoon_libtorch_version prefix out)
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${prefix}/include/${header}")
      file(STRINGS "${prefix}/include/${header}" lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      if(lines)
        string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
        list(JOIN numbers "." version)
        set(${out} ${version} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  set(${out} "" PARENT_SCOPE)
endfunction()

# What the compiler makes (a file that CMake's first look at it leaves behind) and the library: ELF class and machine.
function(ratoon_libtorch_architecture_problem prefix out)
  set(${out} "" PARENT_SCOPE)
  set(ours "${CMAKE_PLATFORM_INFO_DIR}/CMakeDetermineCompilerABI_CXX.bin")
  if(EXISTS "${ours}")
    foreach(where "OFFSET;4;LIMIT;1" "OFFSET;18;LIMIT;2")
      file(READ "${ours}" wanted HEX ${where})
      file(READ "${prefix}/lib/libc10.so" found HEX ${where})
      if(NOT wanted STREQUAL found)
        set(${out} "The LibTorch in ${prefix} is for another processor: its ELF header says ${found}, the compiler's \
programs say ${wanted} (${CMAKE_SYSTEM_PROCESSOR})." PARENT_SCOPE)
      endif()
    endforeach()
  endif()
endfunction()

# Old and new std::string have different names to the linker; c10::Error's constructor takes one, so its name tells.
function(ratoon_libtorch_abi_problem prefix out)
  set(${out} "" PARENT_SCOPE)
  file(STRINGS "${prefix}/lib/libc10.so" old REGEX "_ZN3c105ErrorC[12]ENS_14SourceLocationESs" LIMIT_COUNT 1)
  file(STRINGS "${prefix}/lib/libc10.so" new REGEX "_ZN3c105ErrorC[12]ENS_14SourceLocationENSt7__cxx11" LIMIT_COUNT 1)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("#include <string>\n#if !_GLIBCXX_USE_CXX11_ABI\n#error old\n#endif\nint main() {}"
                            RATOON_COMPILER_HAS_NEW_STRING)
  if(old AND NOT new AND RATOON_COMPILER_HAS_NEW_STRING)
    set(${out} "The LibTorch in ${prefix} has the old std::string (_GLIBCXX_USE_CXX11_ABI=0) and this compiler the new \
one, so nothing would link." PARENT_SCOPE)
  elseif(new AND NOT old AND NOT RATOON_COMPILER_HAS_NEW_STRING)
    set(${out} "This compiler is told to use the old std::string (_GLIBCXX_USE_CXX11_ABI=0) and the LibTorch in ${prefix} \
has the new one: take that definition out of CMAKE_CXX_FLAGS." PARENT_SCOPE)
  endif()
endfunction()

# The folder of a LibTorch that fits, or in `problem` what is wrong and what to do.
function(ratoon_find_libtorch out problem)
  ratoon_locate_libtorch(prefix why)
  if(NOT why)
    ratoon_libtorch_version("${prefix}" version)
    string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor_version "${version}")
    if(NOT version)
      set(why "The LibTorch in ${prefix} is not complete: include/torch has no version.h.")
    elseif(NOT minor_version VERSION_EQUAL RATOON_LIBTORCH_VERSION_WANTED AND NOT RATOON_LIBTORCH_ANY_VERSION)
      set(why "The LibTorch in ${prefix} is version ${version}, and Ratoon needs ${RATOON_LIBTORCH_VERSION_WANTED} \
(-DRATOON_LIBTORCH_ANY_VERSION=ON tries it all the same).")
    elseif(NOT EXISTS "${prefix}/lib/libc10.so")
      set(why "The LibTorch in ${prefix} is not complete: lib has no libc10.so.")
    endif()
  endif()
  foreach(check architecture abi)
    if(NOT why)
      cmake_language(CALL ratoon_libtorch_${check}_problem "${prefix}" why)
    endif()
  endforeach()
  if(why)
    string(APPEND why " ${RATOON_LIBTORCH_NEXT}")
  endif()
  set(${out} "${prefix}" PARENT_SCOPE)
  set(${problem} "${why}" PARENT_SCOPE)
endfunction()
