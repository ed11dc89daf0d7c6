# Third-party packages, each found once, here, with the reason for it. scripts/setup installs them.
function(ratoon_require package why)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "ratoon: ${package} was not found; it is needed for ${why}. "
                        "Run scripts/setup --only build, then configure again.")
  endif()
endfunction()

find_package(Threads REQUIRED)
ratoon_require(nlohmann_json "every JSON text" 3.11)
find_path(RATOON_XXHASH_INCLUDE xxhash.h)
if(NOT RATOON_XXHASH_INCLUDE)
  message(FATAL_ERROR "ratoon: xxhash.h was not found; it is needed for tensor digests. "
                      "Run scripts/setup --only build, then configure again.")
endif()

if(RATOON_WITH_HTTP)
  ratoon_require(Boost "the HTTP server (Beast)" 1.74 COMPONENTS system)
  ratoon_require(OpenSSL "TLS" 3.0)
  ratoon_require(cpprestsdk "the HTTP client" 2.10.18)
  ratoon_require(prometheus-cpp "the text format of /metrics")  # says no version
  ratoon_require(yaml-cpp "TrainingJob files" 0.7)
  ratoon_require(CLI11 "command lines" 2.1)
endif()
if(RATOON_DEVELOPER_MODE)
  ratoon_require(GTest "tests" 1.12)
endif()
if(RATOON_WITH_TORCH)
  include(LibTorch)
endif()
