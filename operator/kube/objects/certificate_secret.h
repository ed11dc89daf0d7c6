// The Secret with the certificate that the operator shows to members. Besides the fields of its type
// kubernetes.io/tls, this Secret has the certificates of the authorities that members trust, and the private
// key of the newest authority.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// All texts are PEM. A text is empty if the Secret lacks it or if the text is not base64.
struct CertificateParts {
  std::string authorities_pem;    // ca.crt: members accept certificates that one of these signed
  std::string authority_key_pem;  // ca.key: of one of these authorities
  std::string certificate_pem;    // tls.crt: the certificate, then others that lead to an authority
  std::string key_pem;            // tls.key

  friend bool operator==(const CertificateParts&, const CertificateParts&) = default;
};

[[nodiscard]] CertificateParts read_certificate_secret(const nlohmann::json& secret);

// Returns a complete Secret, which the caller creates if the Secret does not exist yet.
[[nodiscard]] nlohmann::json make_certificate_secret(const std::string& name, const CertificateParts& parts);

// Returns the patch that writes `parts` into `secret`. The server refuses the patch if another writer has
// changed the Secret since `secret` was read.
[[nodiscard]] nlohmann::json make_certificate_patch(const nlohmann::json& secret,
                                                    const CertificateParts& parts);

}  // namespace ratoon::kube
