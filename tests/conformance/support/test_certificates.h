// Certificates made during the test, so that no key is in the repository and no certificate expires.
#pragma once

#include <memory>
#include <string>

namespace ratoon::http::testing {

struct TestIdentity {
  std::string certificate_pem;
  std::string key_pem;
};

struct IdentityRequest {
  std::string common_name = "test";
  std::string alternative_names{};  // "DNS:localhost,IP:127.0.0.1"; empty: none
  bool is_expired = false;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "Ratoon test authority");
  ~TestAuthority();

  [[nodiscard]] const std::string& ca_pem() const { return ca_pem_; }
  [[nodiscard]] TestIdentity issue(const IdentityRequest& request) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string ca_pem_;
};

}  // namespace ratoon::http::testing
