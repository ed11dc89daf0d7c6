// What a remote store stands on: all that a test replaces.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "base/core/clock.h"
#include "base/http/transport.h"

namespace ratoon::objects {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct Surroundings {
  std::shared_ptr<http::HttpTransport> transport;
  std::shared_ptr<const Clock> clock;
  Environment environment;
  std::function<double()> chance;  // in [0, 1), from any thread
  // Whether all of the time passed: false where a stop was requested.
  std::function<bool(Duration, const std::stop_token&)> pause;
};

// The process's own: its environment, the system's clock, chance from the kernel, a new transport.
[[nodiscard]] Result<Surroundings> system_surroundings(const StoreOptions& options);

}  // namespace ratoon::objects
