# The suite of HttpTransport is compiled once and linked whole: its tests register themselves.
add_library(http_test_support OBJECT
  conformance/support/raw_socket.cpp conformance/support/scripted_server.cpp
  conformance/support/test_certificates.cpp)
target_include_directories(http_test_support PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(http_test_support PRIVATE ratoon::base_core OpenSSL::Crypto ratoon_build_flags)

add_library(transport_conformance OBJECT
  conformance/transport_basics.cpp conformance/transport_limits.cpp conformance/transport_proxy.cpp
  conformance/transport_tls.cpp)
target_include_directories(transport_conformance PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(transport_conformance PRIVATE ratoon::base_http GTest::gmock ratoon_build_flags)

ratoon_test(conformance/http_transport_test
  LIBS transport_conformance http_test_support ratoon::base_http LABELS threads)
ratoon_test(conformance/http_server_test
  SOURCES server_addresses.cpp server_answers.cpp server_limits.cpp server_unauthenticated.cpp
          server_streams_and_stops.cpp
  LIBS http_test_support ratoon::base_http LABELS threads)
ratoon_test(conformance/reflector_test LIBS http_test_support ratoon::operator_runtime LABELS threads)
