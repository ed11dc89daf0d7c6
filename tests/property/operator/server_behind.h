// The storage of a simulated cluster's objects, and the judge of operators' writes: a server in memory, or a
// real kube-apiserver. The front, a SimulatedApiServer whose lists and watches misbehave, tells operators the
// events of this server.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"
#include "base/http/transport.h"
#include "tests/property/operator/simulated_api_server.h"

namespace ratoon::sim {

// The object of a call.
struct Place {
  std::string name_space;
  std::string kind;
  std::string name;
  std::string part;
};
[[nodiscard]] Place place_of(std::string_view url);

[[nodiscard]] http::Response answer_of(int code, const nlohmann::json& object);
[[nodiscard]] http::Response refusal_of(int code, const char* reason);

class ServerBehind {
 public:
  using json = nlohmann::json;
  virtual ~ServerBehind() = default;

  // Writes an object with all rights; the front has it when this function returns.
  virtual void put(const std::string& kind, json object) = 0;
  virtual void remove(const std::string& kind, const std::string& key) = 0;
  // An operator's call, except lists. The result is in the front when this function returns; for a pod that
  // is deleted with grace, which the world ends, put() and remove() may give the result.
  [[nodiscard]] virtual http::Response call(const http::Request& request) = 0;
  // A job that this server accepts and no operator can read.
  [[nodiscard]] virtual json unreadable_job() const = 0;
};

// If pods are held, each has a finalizer: a deleted pod is visible until the world releases it.
[[nodiscard]] std::unique_ptr<ServerBehind> make_memory_server(SimulatedApiServer& front, const Clock& clock,
                                                               bool holds_pods);

// The API server that a kubeconfig names, empty at first. The world's clock gives its times. A failure of the
// server itself is an exception.
[[nodiscard]] std::unique_ptr<ServerBehind> make_real_server(const std::string& kubeconfig,
                                                             SimulatedApiServer& front, const Clock& clock,
                                                             bool holds_pods);

}  // namespace ratoon::sim
