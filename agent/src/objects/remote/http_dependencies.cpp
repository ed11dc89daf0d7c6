#include "agent/src/objects/remote/http_dependencies.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <sys/random.h>

#include <ratoon/counter_random.h>

#include "base/core/read_file.h"
#include "base/core/threads/pause.h"

namespace ratoon::objects {
namespace {

// At most kIdleConnectionsMax idle connections stay open. A data loader usually has fewer threads.
constexpr std::size_t kIdleConnectionsMax = 64;

std::optional<std::string> read_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  // An environment variable with an empty value counts as unset, because shells and pods clear variables in
  // this way.
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::function<double()> kernel_chance() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != sizeof seed) std::abort();
  auto drawn = std::make_shared<std::atomic<std::uint64_t>>(0);
  return [seed, drawn] { return CounterRandom(seed, "retry", drawn->fetch_add(1)).unit_double(); };
}

}  // namespace

Result<HttpDependencies> system_dependencies(const StoreOptions& options) {
  http::TransportOptions transport{.idle_connections_max = kIdleConnectionsMax};
  const std::string ca_file =
      options.ca_file.empty() ? read_variable("AWS_CA_BUNDLE").value_or("") : options.ca_file;
  if (!ca_file.empty()) {
    auto pem = read_file(ca_file);
    if (!pem) return pem.error().with_context("reading the trusted authorities (ca_file, AWS_CA_BUNDLE)");
    transport.tls.ca_pem = std::move(*pem);
  }
  return HttpDependencies{.transport = http::make_transport(std::move(transport)),
                          .clock = std::make_shared<SystemClock>(),
                          .environment = read_variable,
                          .chance = kernel_chance(),
                          .pause = pause_for};
}

}  // namespace ratoon::objects
