// Checks of a certificate before a server uses it.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/http/server.h"

namespace ratoon::http {

// Returns when the first certificate in `pem` expires, or nothing if `pem` has no readable certificate.
[[nodiscard]] std::optional<WallTime> certificate_end(const std::string& pem);

// Checks that clients which trust only the authorities in `ca_pem` would accept the server certificate
// `shown` for `name` (a host name or an IP address) at that time. The error says why clients would
// not.
[[nodiscard]] Result<void> check_certificate(const TlsServerOptions& shown, const std::string& ca_pem,
                                             const std::string& name, WallTime now);

}  // namespace ratoon::http
