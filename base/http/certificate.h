// What is read of a certificate before it is shown to anybody.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/http/server.h"

namespace ratoon::http {

// When the first certificate in `pem` ends; nothing where none can be read.
[[nodiscard]] std::optional<WallTime> certificate_end(const std::string& pem);

// Whether clients who trust the authorities in `ca_pem` alone would take this server's certificate for
// `name`, a host name or an IP address, at that time. The error says why not.
[[nodiscard]] Result<void> check_certificate(const TlsServerOptions& shown, const std::string& ca_pem,
                                             const std::string& name, WallTime now);

}  // namespace ratoon::http
