# Brotli::decoder and Brotli::encoder. Brotli brings no CMake file of its own. Our build and, installed beside
# ratoonConfig.cmake, a consumer's use this one.
include(FindPackageHandleStandardArgs)
find_path(Brotli_INCLUDE_DIR brotli/decode.h)
find_library(Brotli_DECODER_LIBRARY brotlidec)
find_library(Brotli_ENCODER_LIBRARY brotlienc)
mark_as_advanced(Brotli_INCLUDE_DIR Brotli_DECODER_LIBRARY Brotli_ENCODER_LIBRARY)
find_package_handle_standard_args(Brotli
  REQUIRED_VARS Brotli_DECODER_LIBRARY Brotli_ENCODER_LIBRARY Brotli_INCLUDE_DIR)
foreach(part DECODER ENCODER)
  string(TOLOWER ${part} name)
  if(Brotli_FOUND AND NOT TARGET Brotli::${name})
    add_library(Brotli::${name} UNKNOWN IMPORTED)
    set_target_properties(Brotli::${name} PROPERTIES
      IMPORTED_LOCATION "${Brotli_${part}_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Brotli_INCLUDE_DIR}")
  endif()
endforeach()
