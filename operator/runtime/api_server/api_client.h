// operator/runtime/api_server/: finds the API server and makes calls to it. ApiClient: makes calls to one API
// server, with the operator's credentials.
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
#include "operator/kube/access/api_server_access.h"
#include "operator/kube/api_failure.h"
#include "operator/kube/request.h"
#include "operator/runtime/api_server/plugin_credentials.h"
#include "operator/runtime/leader/fence.h"

namespace ratoon::runtime {

// Facts about a call that has ended, for metrics.
struct ApiCall {
  std::string_view verb;
  std::string_view resource;
  int status = 0;  // 0: no answer
  double seconds = 0;
};

class ApiClient {
 public:
  // The client calls this function after each call to the server, in the thread that made the call.
  using OnCall = std::function<void(const ApiCall&)>;

  // The clock and the fence must outlive the client. While the fence is closed (this operator does not lead),
  // the client sends no write; without a fence it sends every write. If `transport` is null, the client makes
  // its own transport.
  ApiClient(kube::ApiServerAccess access, const Clock& clock, OnCall on_call = {},
            const Fence* fence = nullptr, std::unique_ptr<http::HttpTransport> transport = nullptr);

  // Returns the object in the reply. Any HTTP status but success is an error (operator/kube/api_failure.h).
  // Never sleeps: if an overloaded server asks for a pause, the caller must make the call again later.
  [[nodiscard]] Result<nlohmann::json> call(const kube::ApiRequest& request, const std::stop_token& stop,
                                            Duration timeout = std::chrono::seconds(30)) const;
  [[nodiscard]] Result<nlohmann::json> call(const Result<kube::ApiRequest>& request,
                                            const std::stop_token& stop,
                                            Duration timeout = std::chrono::seconds(30)) const;

  // Makes the call and returns the object in the reply. Sets `refusal` if the server refused the call. If the
  // server refuses the token and a newer token may be available, repeats the call at once.
  [[nodiscard]] Result<nlohmann::json> call(const kube::ApiRequest& request, const std::stop_token& stop,
                                            Duration timeout, std::optional<kube::ApiFailure>& refusal) const;

  // Passes the reply to the sink as it arrives: first its head, with any HTTP status, and then its body.
  [[nodiscard]] Result<http::ResponseHead> stream(const kube::ApiRequest& request, const http::Limits& limits,
                                                  http::BodySink& sink, std::stop_token stop) const;

  [[nodiscard]] const std::string& server() const { return access_.server; }
  // Returns the namespace for calls that do not name a namespace. This namespace comes from the kubeconfig or
  // from the pod.
  [[nodiscard]] const std::string& name_space() const { return access_.name_space; }

 private:
  [[nodiscard]] Result<http::Request> prepare_request(const kube::ApiRequest& request) const;
  // Makes the client read its token again. Returns whether a newer token may be available.
  [[nodiscard]] bool mark_token_refused(const http::Request& refused) const;
  void report_call(const kube::ApiRequest& request, int status, Timestamp began) const;
  [[nodiscard]] bool may_send_write(const kube::ApiRequest& request, Timestamp now) const;

  kube::ApiServerAccess access_;
  const Clock& clock_;
  const OnCall on_call_;
  const Fence* fence_;
  std::unique_ptr<TokenFile> token_file_;  // if token_file_ and plugin_ are null, the token does not change
  std::unique_ptr<PluginCredentials> plugin_;
  std::unique_ptr<http::HttpTransport> transport_;
};

}  // namespace ratoon::runtime
