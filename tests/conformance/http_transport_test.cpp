// The conformance suite, run against both transports.
#include "tests/conformance/transport_conformance.h"

namespace ratoon::http::testing {
namespace {

const TransportFactory kCpprest{"cpprestsdk",
                                [](TransportOptions options) { return make_transport(options); }};
const TransportFactory kDirect{"direct",
                               [](TransportOptions options) { return make_direct_transport(options); }};

INSTANTIATE_TEST_SUITE_P(Cpprest, TransportConformance, ::testing::Values(kCpprest));
INSTANTIATE_TEST_SUITE_P(Cpprest, TlsConformance, ::testing::Values(kCpprest));
INSTANTIATE_TEST_SUITE_P(Direct, TransportConformance, ::testing::Values(kDirect));
INSTANTIATE_TEST_SUITE_P(Direct, TlsConformance, ::testing::Values(kDirect));

}  // namespace
}  // namespace ratoon::http::testing
