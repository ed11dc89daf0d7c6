#include "operator/kube/metadata.h"

#include "operator/kube/lenient_json.h"

namespace ratoon::kube {

JobKey job_key_in(const nlohmann::json& object) {
  const auto& meta = child(object, "metadata");
  return {.name_space = string_field(meta, "namespace"), .name = string_field(meta, "name")};
}

std::uint64_t parse_version(std::string_view text) {
  return parse_unsigned(text).value_or(0);
}

std::uint64_t resource_version_in(const nlohmann::json& object) {
  return parse_version(string_field(child(object, "metadata"), "resourceVersion"));
}

}  // namespace ratoon::kube
