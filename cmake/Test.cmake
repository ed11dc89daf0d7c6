# ratoon_test(unit/base/result_test LIBS ratoon::base_core [LABELS threads] [ARGS ...])
#
# One line a test. The test's source is that path plus .cpp under tests/, its label the first folder of the path; a
# second label (threads, nightly) puts it in one more lane. It runs in the repository's root. A test that cannot run
# here exits with 77 and says "SKIPPED: reason". A test of several small files names them after SOURCES, beside where
# its own would be. A test of many slow cases runs as PARTS tests, side by side, each with its share of the cases.
function(ratoon_test path)
  cmake_parse_arguments(ARG "" "TIMEOUT;PARTS" "SOURCES;LIBS;LABELS;ARGS" ${ARGN})
  string(REGEX MATCH "^[^/]+" label ${path})
  get_filename_component(name ${path} NAME)
  get_filename_component(folder ${path} DIRECTORY)
  if(ARG_SOURCES)
    list(TRANSFORM ARG_SOURCES PREPEND ${folder}/)
  else()
    set(ARG_SOURCES ${path}.cpp)
  endif()
  ratoon_program(${name} SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  if(label MATCHES "^(unit|property|conformance)$" AND NOT RATOON_UNITS_IN_ALL)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  # A mutant replaces functions of a source, and only calls of -fPIC find the mutant's (tests/integration/mutants.py). The
  # modules are compiled so anyway.
  if(ARG_SOURCES MATCHES "\\.\\./(agent|base|cli|launcher|operator)/")
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
  # They look once at what others compute: optimizing them costs more time than it saves.
  if(label MATCHES "^(unit|conformance)$")
    target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O0>)
  endif()
  foreach(lane ${label} ${ARG_LABELS})
    if(NOT TARGET tests-${lane})
      add_custom_target(tests-${lane})  # what a lane needs to build, and no more
    endif()
    add_dependencies(tests-${lane} ${name})
  endforeach()
  if(NOT ARG_PARTS)
    set(ARG_PARTS 1)
  endif()
  math(EXPR last "${ARG_PARTS} - 1")
  foreach(part RANGE ${last})
    set(test ${label}.${name})
    if(last)
      string(APPEND test _${part})
    endif()
    add_test(NAME ${test} COMMAND ${name} ${ARG_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    ratoon_test_properties(${test} "${label};${ARG_LABELS}" "${ARG_TIMEOUT}")
    if(last)
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_PARTS};GTEST_SHARD_INDEX=${part}")
    endif()
  endforeach()
endfunction()

# ratoon_test_support(crash_support SOURCES support/crash/model_disk.cpp ... LIBS ...): what several test programs share,
# compiled once.
function(ratoon_test_support name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LIBS} PRIVATE ratoon_build_flags)
  ratoon_unity(${name})
endfunction()

# ratoon_python_test(tidy/layering_test [ARGS ...] [ENVIRONMENT ...] [INTERPRETER python3]): a Python unittest file. With
# the usual interpreter it has the standard library only. A long search runs as PARTS tests, which can run on different
# nights; each reads RATOON_PART and RATOON_PARTS and does its share.
function(ratoon_python_test path)
  cmake_parse_arguments(ARG "" "TIMEOUT;INTERPRETER;PARTS" "LABELS;ARGS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_INTERPRETER)
    set(ARG_INTERPRETER ${Python3_EXECUTABLE})
  endif()
  string(REGEX MATCH "^[^/]+" label ${path})
  get_filename_component(name ${path} NAME)
  if(NOT ARG_PARTS)
    set(ARG_PARTS 1)
  endif()
  math(EXPR last "${ARG_PARTS} - 1")
  foreach(part RANGE ${last})
    set(test ${label}.${name})
    if(last)
      string(APPEND test _${part})
    endif()
    add_test(NAME ${test} COMMAND ${ARG_INTERPRETER} ${CMAKE_CURRENT_SOURCE_DIR}/support/run_python.py
             ${CMAKE_CURRENT_SOURCE_DIR}/${path}.py ${ARG_ARGS}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    ratoon_test_properties(${test} "${label};${ARG_LABELS}" "${ARG_TIMEOUT}")
    set_tests_properties(${test} PROPERTIES ENVIRONMENT "RATOON_BUILD_DIR=${PROJECT_BINARY_DIR};\
PYTHONDONTWRITEBYTECODE=1;RATOON_PART=${part};RATOON_PARTS=${ARG_PARTS};${ARG_ENVIRONMENT}")
  endforeach()
endfunction()

function(ratoon_test_properties test labels timeout)
  if(NOT timeout)
    set(timeout 2400)  # it ends a hang, and nothing else: a test of a cluster took 930 s on a loaded machine
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
endfunction()
