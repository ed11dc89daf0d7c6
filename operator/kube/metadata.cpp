#include "operator/kube/metadata.h"

#include "operator/kube/lenient_json.h"

namespace ratoon::kube {

JobKey key_in(const nlohmann::json& object) {
  const auto& meta = child(object, "metadata");
  return {.name_space = text_in(meta, "namespace"), .name = text_in(meta, "name")};
}

std::uint64_t parse_version(std::string_view text) {
  return parse_whole(text).value_or(0);
}

std::uint64_t version_in(const nlohmann::json& object) {
  return parse_version(text_in(child(object, "metadata"), "resourceVersion"));
}

}  // namespace ratoon::kube
