// HttpDependencies holds the clock, random numbers and transport of a remote store. Tests replace them.
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

struct HttpDependencies {
  std::shared_ptr<http::HttpTransport> transport;
  std::shared_ptr<const Clock> clock;
  Environment environment;
  std::function<double()> chance;  // in [0, 1), from any thread
  // Waits. Returns false if a stop was requested before the time had passed.
  std::function<bool(Duration, const std::stop_token&)> pause;
};

// Returns the dependencies for real use: the process's environment, the system's clock, random numbers that
// the kernel seeds, and a new HTTP transport.
[[nodiscard]] Result<HttpDependencies> system_dependencies(const StoreOptions& options);

}  // namespace ratoon::objects
