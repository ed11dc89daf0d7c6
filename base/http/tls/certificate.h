// Checks of a certificate before a server uses it.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/http/server.h"

namespace ratoon::http {

// The end of validity of the first certificate in `pem`; nothing if none can be read.
[[nodiscard]] std::optional<WallTime> certificate_end(const std::string& pem);

// Whether clients that trust only the authorities in `ca_pem` would accept this server's certificate for
// `name`, a host name or an IP address, at that time. The error explains why clients would not accept the
// certificate.
[[nodiscard]] Result<void> check_certificate(const TlsServerOptions& shown, const std::string& ca_pem,
                                             const std::string& name, WallTime now);

}  // namespace ratoon::http
