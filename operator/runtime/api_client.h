// ApiClient makes calls to one API server: it knows where it is and shows who we are.
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/token_file.h"
#include "base/http/transport.h"
#include "operator/kube/access.h"
#include "operator/kube/failure.h"
#include "operator/kube/request.h"
#include "operator/runtime/fence.h"
#include "operator/runtime/plugin_credentials.h"

namespace ratoon::runtime {

// A call that has ended, for who counts them.
struct ApiCall {
  std::string_view verb;
  std::string_view resource;
  int status = 0;  // 0: no answer
  double seconds = 0;
};

class ApiClient {
 public:
  // Called by the thread that made the call.
  using OnCall = std::function<void(const ApiCall&)>;

  // The clock outlives it, and so does the fence: while that is closed no write is sent. Without one all are.
  // Without a transport it has one of its own.
  ApiClient(kube::Access access, const Clock& clock, OnCall on_call = {}, const Fence* fence = nullptr,
            std::unique_ptr<http::HttpTransport> transport = nullptr);

  // The reply's object; any status but success is an error (operator/kube/failure.h). A server that is
  // overloaded and says for how long is asked once more: such a refusal had no effect.
  [[nodiscard]] Result<nlohmann::json> call(const kube::Request& request, std::stop_token stop,
                                            Duration patience = std::chrono::seconds(30)) const;
  [[nodiscard]] Result<nlohmann::json> call(const Result<kube::Request>& request, std::stop_token stop,
                                            Duration patience = std::chrono::seconds(30)) const;

  // The same, and where the server refused, as what.
  [[nodiscard]] Result<nlohmann::json> call(const kube::Request& request, std::stop_token stop,
                                            Duration patience, std::optional<kube::Failure>& refusal) const;

  // The same, and a server that is overloaded is not waited for: of a caller that has no time to.
  [[nodiscard]] Result<nlohmann::json> call_once(const Result<kube::Request>& request,
                                                 const std::stop_token& stop, Duration patience) const;

  // The body as it comes; the sink sees the head first, whatever its status.
  [[nodiscard]] Result<http::ResponseHead> stream(const kube::Request& request, const http::Limits& limits,
                                                  http::BodySink& sink, std::stop_token stop) const;

  [[nodiscard]] const std::string& server() const { return access_.server; }
  // In which calls are made that have no other.
  [[nodiscard]] const std::string& name_space() const { return access_.name_space; }

 private:
  [[nodiscard]] Result<nlohmann::json> attempt(const kube::Request& request, const std::stop_token& stop,
                                               Duration patience,
                                               std::optional<kube::Failure>& refusal) const;
  [[nodiscard]] Result<http::Request> prepare(const kube::Request& request) const;
  // Whether another token may be had than the one that the server did not take.
  [[nodiscard]] bool doubt_token(const http::Request& refused) const;
  void tell(const kube::Request& request, int status, Timestamp began) const;
  [[nodiscard]] bool may_send(const kube::Request& request, Timestamp now) const;

  kube::Access access_;
  const Clock& clock_;
  const OnCall on_call_;
  const Fence* fence_;
  std::unique_ptr<TokenFile> token_file_;  // both absent: the token does not change
  std::unique_ptr<PluginCredentials> plugin_;
  std::unique_ptr<http::HttpTransport> transport_;
};

}  // namespace ratoon::runtime
