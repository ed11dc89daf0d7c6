// Makes certificate authorities and the certificates that they sign, with keys on the curve P-256.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "base/http/tls/certificate.h"

namespace ratoon::http {

struct KeyedCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

[[nodiscard]] Result<KeyedCertificate> make_authority(const std::string& name, const Validity& validity);

// Issues a server's certificate for `name`, which is a host name or an IP address.
[[nodiscard]] Result<KeyedCertificate> issue_certificate(const KeyedCertificate& authority,
                                                         const std::string& name, const Validity& validity);

// Returns a certificate of the authority `next` that `former` signed. If a server also shows this
// certificate, clients that trust only `former` accept certificates that `next` signs.
[[nodiscard]] Result<std::string> cross_sign(const KeyedCertificate& former, const std::string& next_pem,
                                             const Validity& validity);

}  // namespace ratoon::http
