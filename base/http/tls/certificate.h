// Checks of a certificate before a server uses it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/http/server.h"

namespace ratoon::http {

struct Validity {
  WallTime begins;
  WallTime ends;
};

// Returns the validity of the first certificate in `pem`, or nothing if `pem` has no readable certificate.
[[nodiscard]] std::optional<Validity> certificate_validity(const std::string& pem);

// Returns each certificate in `pem` as a separate text. Returns an empty list if one of the certificates
// cannot be read.
[[nodiscard]] std::vector<std::string> split_certificates(const std::string& pem);

// Returns whether the key belongs to the first certificate.
[[nodiscard]] bool is_key_of(const std::string& key_pem, const std::string& certificate_pem);

// Checks that clients accept the server certificate `shown` at the time `now`. The clients connect to `name`,
// a host name or an IP address, and trust only the authorities in `ca_pem`. The error says why clients would
// refuse the certificate.
[[nodiscard]] Result<void> check_certificate(const TlsServerOptions& shown, const std::string& ca_pem,
                                             const std::string& name, WallTime now);

}  // namespace ratoon::http
