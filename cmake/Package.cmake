# cpack: two Debian packages of what Install.cmake installs. `ratoon` has the programs, libratoon-dev what a trainer's
# build needs; LibTorch is no Debian package and stays the trainer author's to install.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "Ratoon <${PROJECT_HOMEPAGE_URL}>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL dev)
if(RATOON_WITH_HTTP)
  list(APPEND CPACK_COMPONENTS_ALL programs)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME ratoon)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "${PROJECT_DESCRIPTION}: the programs")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libratoon-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION "${PROJECT_DESCRIPTION}: libraries and headers for trainers")
ratoon_debian_packages(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ${RATOON_agent_LIBRARIES} ${RATOON_agent_mds_LIBRARIES})
include(CPack)
