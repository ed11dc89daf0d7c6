// Where the objects of a simulated cluster are stored, and who judges what operators write: a server in
// memory, or a real kube-apiserver. What happened there is told to operators by the front, a
// SimulatedApiServer, whose lists and watches misbehave.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"
#include "base/http/transport.h"
#include "tests/property/operator/simulated_api_server.h"

namespace ratoon::sim {

// What a call is about.
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

  // What happens to an object, by who has all rights; the front has it when this returns.
  virtual void put(const std::string& kind, json object) = 0;
  virtual void remove(const std::string& kind, const std::string& key) = 0;
  // What an operator asks for, but for lists. What came of it is in the front when this returns; a pod that
  // is deleted with grace, which the world ends, may be left to put() and remove().
  [[nodiscard]] virtual http::Response call(const http::Request& request) = 0;
  // A job that this server takes and no operator can read.
  [[nodiscard]] virtual json unreadable_job() const = 0;
};

// Where pods are held each has a finalizer: who is deleted is seen until the world lets it go.
[[nodiscard]] std::unique_ptr<ServerBehind> make_memory_server(SimulatedApiServer& front, const Clock& clock,
                                                               bool holds_pods);

// The API server that a kubeconfig names, empty at first. Its times are told by the world's clock. Trouble
// with the server itself is an exception.
[[nodiscard]] std::unique_ptr<ServerBehind> make_real_server(const std::string& kubeconfig,
                                                             SimulatedApiServer& front, const Clock& clock,
                                                             bool holds_pods);

}  // namespace ratoon::sim
