# Included by tests/torch/tests.cmake: the snippets of the documentation, in one program that runs them.
file(GLOB_RECURSE pages_with_snippets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/train/*.md
  ${PROJECT_SOURCE_DIR}/agent/include/*.h ${PROJECT_SOURCE_DIR}/base/include/*.h)
set(snippets ${CMAKE_CURRENT_SOURCE_DIR}/torch/snippets)
set(filled_frames)
foreach(frame session state data torch torch_data pages)
  set(filled ${PROJECT_BINARY_DIR}/snippets/${frame}.cpp)
  add_custom_command(OUTPUT ${filled}
    COMMAND ${Python3_EXECUTABLE} ${snippets}/snippets.py ${snippets}/frames/${frame}.cpp.in ${filled}
    DEPENDS ${snippets}/frames/${frame}.cpp.in ${snippets}/snippets.py ${pages_with_snippets} ${PROJECT_SOURCE_DIR}/README.md
    VERBATIM)
  list(APPEND filled_frames ${filled})
endforeach()
add_executable(run_snippets torch/snippets/run_snippets.cpp ${filled_frames})
target_include_directories(run_snippets PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(run_snippets PRIVATE digits_net ratoon::agent_torch ratoon::agent_mds)
# Snippets name values that they do not use. They run once: optimizing them costs more time than it saves.
target_compile_options(run_snippets PRIVATE -w -O0)
ratoon_python_test(torch/snippets/snippets_test)
