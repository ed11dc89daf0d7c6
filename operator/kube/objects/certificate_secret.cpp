#include "operator/kube/objects/certificate_secret.h"

#include "operator/kube/access/base64.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

std::string decode_entry(const json& data, const char* name) {
  auto bytes = decode_base64(string_field(data, name));
  return bytes ? std::move(*bytes) : std::string();
}

json secret_data_of(const CertificateParts& parts) {
  return {{"ca.crt", encode_base64(parts.authorities_pem)},
          {"ca.key", encode_base64(parts.authority_key_pem)},
          {"tls.crt", encode_base64(parts.certificate_pem)},
          {"tls.key", encode_base64(parts.key_pem)}};
}

}  // namespace

CertificateParts read_certificate_secret(const json& secret) {
  const json& data = child(secret, "data");
  return {.authorities_pem = decode_entry(data, "ca.crt"),
          .authority_key_pem = decode_entry(data, "ca.key"),
          .certificate_pem = decode_entry(data, "tls.crt"),
          .key_pem = decode_entry(data, "tls.key")};
}

json make_certificate_secret(const std::string& name, const CertificateParts& parts) {
  // The Secret has no label of the Helm release, because with such a label Argo CD would treat the Secret as
  // removed from the chart.
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", "kubernetes.io/tls"},
          {"metadata", {{"name", name}, {"labels", {{"app.kubernetes.io/component", "coordinator"}}}}},
          {"data", secret_data_of(parts)}};
}

json make_certificate_patch(const json& secret, const CertificateParts& parts) {
  return {{"metadata", {{"resourceVersion", string_field(child(secret, "metadata"), "resourceVersion")}}},
          {"data", secret_data_of(parts)}};
}

}  // namespace ratoon::kube
