# The repository's own rules. Each file runs by hand too: python3 tests/tidy/layering_test.py
ratoon_python_test(tidy/layering_test)
ratoon_python_test(tidy/banned_test)
ratoon_python_test(tidy/format_test)
ratoon_python_test(tidy/clang_tidy_test)
ratoon_python_test(tidy/links_test)
ratoon_python_test(tidy/headers_test)
ratoon_python_test(tidy/expected_skips_test)
ratoon_python_test(tidy/named_tests_test)
ratoon_python_test(tidy/pages_test)
ratoon_python_test(tidy/stand_ins_test)
ratoon_python_test(tidy/mutants_test)
ratoon_python_test(tidy/house_test)
ratoon_python_test(tidy/draw_test)
ratoon_python_test(tidy/waits_test)
ratoon_python_test(tidy/nightly_counts_test)
ratoon_python_test(tidy/nightly_record_test)
ratoon_python_test(tidy/self_test)
# All headers, and not only those that users see; all files, and not only those of the newest change.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(check IN ITEMS headers_test clang_tidy_test)
  add_test(NAME nightly.${check} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tidy/${check}.py
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  ratoon_test_properties(nightly.${check} nightly 3600)
endforeach()
set_tests_properties(nightly.headers_test PROPERTIES
  ENVIRONMENT "RATOON_BUILD_DIR=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1;RATOON_HEADERS=all")
set_tests_properties(nightly.clang_tidy_test PROPERTIES
  ENVIRONMENT "RATOON_BUILD_DIR=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1;RATOON_CLANG_TIDY=all")
