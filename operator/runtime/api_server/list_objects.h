// Lists objects in pages, because the API client refuses long replies: one reply with all objects of a large
// cluster would need too much memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/kube/api_failure.h"
#include "operator/kube/request.h"
#include "operator/runtime/api_server/api_client.h"

namespace ratoon::runtime {

struct ListOptions {
  kube::Selection selection;
  Duration page_timeout;
  std::uint32_t page_items = 500;
};

// Calls `take` with each object and returns the resource version of the list. If a page is too long, lists
// smaller pages. Sets `refusal` if the server refused a page; `take` may have got objects before that.
[[nodiscard]] Result<std::string> list_objects(const ApiClient& client, const ListOptions& options,
                                               const std::function<void(const nlohmann::json&)>& take,
                                               const std::stop_token& stop,
                                               std::optional<kube::ApiFailure>& refusal);

}  // namespace ratoon::runtime
