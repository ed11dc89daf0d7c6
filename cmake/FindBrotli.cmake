# Brotli::decoder. Brotli brings no CMake file of its own. Our build and, installed beside ratoonConfig.cmake, a
# consumer's use this one.
include(FindPackageHandleStandardArgs)
find_path(Brotli_INCLUDE_DIR brotli/decode.h)
find_library(Brotli_DECODER_LIBRARY brotlidec)
mark_as_advanced(Brotli_INCLUDE_DIR Brotli_DECODER_LIBRARY)
find_package_handle_standard_args(Brotli REQUIRED_VARS Brotli_DECODER_LIBRARY Brotli_INCLUDE_DIR)
if(Brotli_FOUND AND NOT TARGET Brotli::decoder)
  add_library(Brotli::decoder UNKNOWN IMPORTED)
  set_target_properties(Brotli::decoder PROPERTIES
    IMPORTED_LOCATION "${Brotli_DECODER_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Brotli_INCLUDE_DIR}")
endif()
