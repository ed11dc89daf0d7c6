#include "operator/kube/objects/certificate_secret.h"

#include "operator/kube/access/base64.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

std::string decoded(const json& data, const char* name) {
  auto bytes = decode_base64(text_in(data, name));
  return bytes ? std::move(*bytes) : std::string();
}

json data_of(const CertificateParts& parts) {
  return {{"ca.crt", encode_base64(parts.authorities_pem)},
          {"ca.key", encode_base64(parts.authority_key_pem)},
          {"tls.crt", encode_base64(parts.certificate_pem)},
          {"tls.key", encode_base64(parts.key_pem)}};
}

}  // namespace

CertificateParts read_certificate_secret(const json& secret) {
  const json& data = child(secret, "data");
  return {.authorities_pem = decoded(data, "ca.crt"),
          .authority_key_pem = decoded(data, "ca.key"),
          .certificate_pem = decoded(data, "tls.crt"),
          .key_pem = decoded(data, "tls.key")};
}

json make_certificate_secret(const std::string& name, const CertificateParts& parts) {
  // The Secret has no label of the Helm release: with such a label, Argo CD would treat the Secret as an
  // object that was removed from the chart.
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", "kubernetes.io/tls"},
          {"metadata", {{"name", name}, {"labels", {{"app.kubernetes.io/component", "coordinator"}}}}},
          {"data", data_of(parts)}};
}

json write_certificate_parts(const json& secret, const CertificateParts& parts) {
  return {{"metadata", {{"resourceVersion", text_in(child(secret, "metadata"), "resourceVersion")}}},
          {"data", data_of(parts)}};
}

}  // namespace ratoon::kube
