# ratoon_module(base_core SOURCES a.cpp ... [PUBLIC libs] [PRIVATE libs] [INCLUDE public folders])
#
# One small static library: target ratoon_base_core, alias ratoon::base_core. Files of the repository are included
# by their path from its root ("base/core/clock.h"); folders after INCLUDE hold headers that users see (<ratoon/...>).
#
# Header-only libraries that no public header shows end with our own compiling: installed targets do not name them.
set(RATOON_HEADER_ONLY nlohmann_json::nlohmann_json Boost::headers)

function(ratoon_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE;INCLUDE" ${ARGN})
  foreach(library IN LISTS RATOON_HEADER_ONLY)
    list(TRANSFORM ARG_PUBLIC REPLACE "^${library}$" "$<BUILD_INTERFACE:${library}>")
    list(TRANSFORM ARG_PRIVATE REPLACE "^${library}$" "$<BUILD_INTERFACE:${library}>")
  endforeach()
  set(target ratoon_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(ratoon::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  foreach(folder IN LISTS ARG_INCLUDE)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/${folder}>)
  endforeach()
  target_link_libraries(${target} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:ratoon_build_flags>)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL ratoon_unity ${target})")  # target_sources() may add more
endfunction()

# ratoon_program(ratoon SOURCES ... LIBS ...)
function(ratoon_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} ratoon_build_flags)
  ratoon_unity(${name})
endfunction()

# ratoon_static_program(ratoon-launcher SOURCES ... LIBS ratoon::launcher)
#
# A program that runs in every image: it needs no shared library, and the system's resolver and name services neither. Its
# libraries are our modules and OpenSSL alone. With a sanitizer, which cannot be linked statically, it is like any other.
function(ratoon_static_program name)
  if(RATOON_SANITIZE)
    ratoon_program(${name} ${ARGN})
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  ratoon_program(${name} SOURCES ${ARG_SOURCES})
  foreach(library IN LISTS ARG_LIBS)
    get_target_property(target ${library} ALIASED_TARGET)
    ratoon_link_closure(${target} modules libraries)
    foreach(module IN LISTS modules)
      # By its file: the target itself would bring OpenSSL's shared libraries.
      target_link_libraries(${name} PRIVATE $<TARGET_FILE:${module}>)
      target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:${module},INTERFACE_INCLUDE_DIRECTORIES>)
      add_dependencies(${name} ${module})
    endforeach()
  endforeach()
  find_library(RATOON_STATIC_SSL libssl.a REQUIRED)
  find_library(RATOON_STATIC_CRYPTO libcrypto.a REQUIRED)
  mark_as_advanced(RATOON_STATIC_SSL RATOON_STATIC_CRYPTO)
  target_link_libraries(${name} PRIVATE ${RATOON_STATIC_SSL} ${RATOON_STATIC_CRYPTO})
  target_link_options(${name} PRIVATE -static)
endfunction()
