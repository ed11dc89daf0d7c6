# What a library needs of its users' build, read from the targets themselves, so that a module that is added is
# installed, and a third-party library that is added cannot be forgotten.

# Third-party target | what ratoonConfig.cmake says to find it | how a linker's command line names it | Debian's package
set(RATOON_THIRD_PARTY
  "Threads::Threads|Threads|-pthread|libc6-dev"
  "OpenSSL::SSL|OpenSSL|-lssl|libssl-dev"
  "OpenSSL::Crypto|OpenSSL|-lcrypto|libssl-dev"
  "Boost::system|Boost COMPONENTS system|-lboost_system|libboost-system-dev"
  "cpprestsdk::cpprest|cpprestsdk|-lcpprest|libcpprest-dev"
  "prometheus-cpp::core|prometheus-cpp|-lprometheus-cpp-core|prometheus-cpp-dev"
  "Brotli::decoder|Brotli|-lbrotlidec|libbrotli-dev"
  "Brotli::encoder|Brotli|-lbrotlienc|libbrotli-dev"
  "BZip2::BZip2|BZip2|-lbz2|libbz2-dev"
  "Snappy::snappy|Snappy|-lsnappy|libsnappy-dev"
  "ZLIB::ZLIB|ZLIB|-lz|zlib1g-dev"
  "Zstd::zstd|Zstd|-lzstd|libzstd-dev")

# The modules that `target` is linked from, itself included, each before those that it needs (the order of a linker's
# command line), and the third-party libraries under them.
function(ratoon_link_closure target modules_out libraries_out)
  set(modules "")
  set(libraries "")
  get_target_property(items ${target} LINK_LIBRARIES)
  foreach(item IN LISTS items)
    if(item MATCHES "^\\$<BUILD_INTERFACE:" OR item MATCHES "^::@")
      continue()
    endif()
    set(name ${item})
    if(TARGET ${item})
      get_target_property(aliased ${item} ALIASED_TARGET)
      if(aliased)
        set(name ${aliased})
      endif()
    endif()
    if(name MATCHES "^ratoon_")
      ratoon_link_closure(${name} more_modules more_libraries)
      list(REMOVE_ITEM modules ${more_modules})  # the new ones keep their place behind all that need them
      list(APPEND modules ${more_modules})
      list(APPEND libraries ${more_libraries})
    elseif(name)
      list(APPEND libraries ${name})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  set(${modules_out} ${target} ${modules} PARENT_SCOPE)
  set(${libraries_out} ${libraries} PARENT_SCOPE)
endfunction()

function(ratoon_third_party library package_out flag_out debian_out)
  foreach(row IN LISTS RATOON_THIRD_PARTY)
    string(REPLACE "|" ";" row "${row}")
    list(POP_FRONT row name package flag debian)
    if(name STREQUAL library)
      set(${package_out} "${package}" PARENT_SCOPE)
      set(${flag_out} "${flag}" PARENT_SCOPE)
      set(${debian_out} "${debian}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "ratoon: an installed library links ${library}, and users of the installed tree must find it too: "
                      "add its line to RATOON_THIRD_PARTY in cmake/InstallClosure.cmake.")
endfunction()

function(ratoon_find_dependency_lines out)
  set(lines "")
  foreach(library IN LISTS ARGN)
    ratoon_third_party(${library} package flag debian)
    list(APPEND lines "find_dependency(${package})")
  endforeach()
  list(REMOVE_DUPLICATES lines)
  list(JOIN lines "\n" text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(ratoon_debian_packages out)
  set(packages "")
  foreach(library IN LISTS ARGN)
    ratoon_third_party(${library} package flag debian)
    list(APPEND packages ${debian})
  endforeach()
  list(REMOVE_DUPLICATES packages)
  list(JOIN packages ", " text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The linker's words for a component; files of others require agent's and so leave out what that one says.
function(ratoon_pkg_config_libs out component)
  set(modules ${RATOON_${component}_MODULES})
  set(libraries ${RATOON_${component}_LIBRARIES})
  if(NOT component STREQUAL agent)
    list(REMOVE_ITEM modules ${RATOON_agent_MODULES})
    list(REMOVE_ITEM libraries ${RATOON_agent_LIBRARIES} ratoon::libtorch_cpu)
  endif()
  list(TRANSFORM modules PREPEND -l OUTPUT_VARIABLE words)
  foreach(library IN LISTS libraries)
    ratoon_third_party(${library} package flag debian)
    list(APPEND words ${flag})
  endforeach()
  list(JOIN words " " text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(ratoon_programs_under folder out)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  set(programs "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      list(APPEND programs ${target})
    endif()
  endforeach()
  set(${out} ${programs} PARENT_SCOPE)
endfunction()
