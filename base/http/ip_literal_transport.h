// The HttpTransport for a statically linked program, which cannot use the system's resolver.
#pragma once

#include <memory>

#include "base/http/transport.h"

namespace ratoon::http {

// Makes a transport as make_direct_transport() does, but without a resolver: the URLs of its calls must have
// IP addresses.
[[nodiscard]] std::unique_ptr<HttpTransport> make_ip_literal_transport(const TransportOptions& options = {});

}  // namespace ratoon::http
