# cmake --install: the programs, the agent's static libraries, public headers, ratoonConfig.cmake and pkg-config files.
# Nothing installed holds a path of this machine: the tree can be moved, and LibTorch is found anew where it is used.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RATOON_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ratoon)

# One export set a component, so that a user of ratoon::agent never reads a target that names LibTorch or zstd.
# ratoon_dev builds what the component dev installs: which libraries those are depends on how LibTorch was built.
add_custom_target(ratoon_dev)
set(RATOON_INSTALLED "")
foreach(component agent agent_mds agent_torch agent_torch_cuda)
  if(TARGET ratoon_${component})
    ratoon_link_closure(ratoon_${component} modules libraries)
    set(RATOON_${component}_LIBRARIES ${libraries})
    set(RATOON_${component}_MODULES ${modules})
    list(REMOVE_ITEM modules ${RATOON_INSTALLED})
    list(APPEND RATOON_INSTALLED ${modules})
    add_dependencies(ratoon_dev ratoon_${component})
    install(TARGETS ${modules} EXPORT ratoon_${component}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
            INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT ratoon_${component} NAMESPACE ratoon:: FILE ratoon_${component}_targets.cmake
            DESTINATION ${RATOON_CONFIG_DIR} COMPONENT dev)
  endif()
endforeach()

set(left_out "")
if(NOT RATOON_WITH_TORCH)
  list(APPEND left_out PATTERN torch EXCLUDE PATTERN torch.h EXCLUDE)
endif()
if(NOT RATOON_WITH_MDS)
  list(APPEND left_out PATTERN mds_*.h EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/base/include/ ${PROJECT_SOURCE_DIR}/agent/include/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN *.h ${left_out})

foreach(folder operator cli launcher)
  if(RATOON_WITH_HTTP)
    ratoon_programs_under(${PROJECT_SOURCE_DIR}/${folder} programs)
    if(programs)
      install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
    endif()
  endif()
endforeach()

if(TARGET ratoon)
  install(FILES $<TARGET_FILE_DIR:ratoon>/kubectl-ratoon $<TARGET_FILE_DIR:ratoon>/kubectl_complete-ratoon
    DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
endif()

# Until 1.0 a new minor version may change anything; from then on only a new major version may.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ratoonConfigVersion.cmake COMPATIBILITY ${compatibility})

ratoon_find_dependency_lines(RATOON_FIND_DEPENDENCIES ${RATOON_agent_LIBRARIES})
set(RATOON_agent_mds_OWN ${RATOON_agent_mds_LIBRARIES})
list(REMOVE_ITEM RATOON_agent_mds_OWN ${RATOON_agent_LIBRARIES})
ratoon_find_dependency_lines(RATOON_FIND_MDS_DEPENDENCIES ${RATOON_agent_mds_OWN})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ratoonConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ratoonConfig.cmake INSTALL_DESTINATION ${RATOON_CONFIG_DIR} NO_SET_AND_CHECK_MACRO)
install(FILES ${PROJECT_BINARY_DIR}/ratoonConfig.cmake ${PROJECT_BINARY_DIR}/ratoonConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindBrotli.cmake ${PROJECT_SOURCE_DIR}/cmake/FindZstd.cmake
              ${PROJECT_SOURCE_DIR}/cmake/LibTorchFind.cmake ${PROJECT_SOURCE_DIR}/cmake/LibTorchTargets.cmake
        DESTINATION ${RATOON_CONFIG_DIR} COMPONENT dev)

file(RELATIVE_PATH RATOON_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" RATOON_PC_PREFIX ${RATOON_PC_PREFIX})
foreach(component agent agent_mds agent_torch)
  if(TARGET ratoon_${component})
    string(REPLACE "_" "-" name ratoon-${component})
    ratoon_pkg_config_libs(RATOON_PC_LIBS ${component})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
  endif()
endforeach()

if(PROJECT_IS_TOP_LEVEL)
  include(Package)
endif()
