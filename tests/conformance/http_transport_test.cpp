// The conformance suite, run against the transport over cpprestsdk.
#include "tests/conformance/transport_conformance.h"

namespace ratoon::http::testing {
namespace {

const TransportFactory kCpprest{"cpprestsdk",
                                [](TransportOptions options) { return make_transport(std::move(options)); }};

INSTANTIATE_TEST_SUITE_P(Cpprest, TransportConformance, ::testing::Values(kCpprest));
INSTANTIATE_TEST_SUITE_P(Cpprest, TlsConformance, ::testing::Values(kCpprest));

}  // namespace
}  // namespace ratoon::http::testing
