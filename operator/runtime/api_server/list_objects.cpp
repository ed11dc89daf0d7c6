#include "operator/runtime/api_server/list_objects.h"

#include <algorithm>

#include "operator/kube/lenient_json.h"

namespace ratoon::runtime {

Result<std::string> list_objects(const ApiClient& client, const ListOptions& options,
                                 const std::function<void(const nlohmann::json&)>& take,
                                 const std::stop_token& stop, std::optional<kube::ApiFailure>& refusal) {
  std::string continue_token;
  std::uint32_t items_max = options.page_items;
  while (true) {
    const auto request = kube::list(options.selection, items_max, continue_token);
    if (!request) return request.error();
    const auto page = client.call(*request, stop, options.page_timeout, refusal);
    // An object may have 1.5 MiB, and many large objects must not keep the caller from listing the others.
    const bool is_too_long = !page && !refusal && page.error().kind() == ErrorKind::kInvalid;
    if (is_too_long && items_max > 1) {
      items_max = std::max(1U, items_max / 4);
      continue;
    }
    if (!page) return page.error();
    for (const nlohmann::json& object : kube::items_of(*page, "items")) take(object);
    const nlohmann::json& metadata = kube::child(*page, "metadata");
    continue_token = kube::string_field(metadata, "continue");
    // Return the version of the list, and not that of its last item, because only the list's version marks a
    // position in the stream of events.
    if (continue_token.empty()) return kube::string_field(metadata, "resourceVersion");
  }
}

}  // namespace ratoon::runtime
