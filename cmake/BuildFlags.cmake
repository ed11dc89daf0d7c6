# Compiler and linker settings. They are attached to our own targets only and never reach a consumer.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

  find_program(RATOON_CCACHE ccache)
  if(RATOON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${RATOON_CCACHE})
  endif()
  find_program(RATOON_MOLD mold)
  if(RATOON_MOLD AND NOT RATOON_FUZZ)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

add_library(ratoon_build_flags INTERFACE)
target_compile_features(ratoon_build_flags INTERFACE cxx_std_20)
target_compile_options(ratoon_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wswitch-enum -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers  # designated initializers leave the rest to its default, on purpose
  # g++ 12 sees overlaps in std::string's own code at -O3 (GCC bug 105651)
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${RATOON_WERROR}>:-Werror>)
target_compile_definitions(ratoon_build_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(RATOON_SANITIZE)
  target_compile_options(ratoon_build_flags INTERFACE -fsanitize=${RATOON_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(ratoon_build_flags INTERFACE -fsanitize=${RATOON_SANITIZE})
  if(RATOON_SANITIZE MATCHES undefined)
    # A null pointer ends the process without a check, too, and types of objects are checked at a fifth of the
    # compiler's time.
    target_compile_options(ratoon_build_flags INTERFACE -fno-sanitize-recover=undefined -fno-sanitize=null,vptr)
  endif()
  if(RATOON_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(ratoon_build_flags INTERFACE -Wno-tsan)  # Boost.Asio's fences
  endif()
endif()
