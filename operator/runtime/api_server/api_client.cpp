#include "operator/runtime/api_server/api_client.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/contract/parse_json.h"
#include "operator/kube/watch_decoder.h"
#include "operator/runtime/api_server/ca_reloading_transport.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

// The largest accepted reply. It is much larger than the largest object of an API server (1.5 MiB). A parsed
// reply takes about 80 bytes for each of its values, so a reply of this size with the most values fits into
// the memory limit that the chart sets for the operator; a single object never has so many values.
constexpr std::size_t kReplyBytesMax = 16 * 1024 * 1024;
constexpr std::ptrdiff_t kReplyValuesMax = 1'200'000;
constexpr int kJsonDepthMax = 128;
constexpr std::string_view kBearerPrefix = "Bearer ";

std::unique_ptr<http::HttpTransport> make_transport(const kube::ApiServerAccess& access, const Clock& clock) {
  http::TransportOptions options{.tls = {.ca_pem = access.ca_pem,
                                         .certificate_pem = access.certificate_pem,
                                         .private_key_pem = access.private_key_pem,
                                         .server_name = access.server_name},
                                 .proxy = access.proxy};
  if (access.ca_file.empty()) return http::make_direct_transport(options);
  return std::make_unique<CaReloadingTransport>(std::move(options), access.ca_file, clock);
}

std::unique_ptr<PluginCredentials> make_plugin(const kube::ApiServerAccess& access, const Clock& clock) {
  if (!access.plugin) return nullptr;
  kube::PluginCredential first{.token = access.token,
                               .certificate_pem = {},
                               .private_key_pem = {},
                               .expires_at = access.token_expires_at};
  return std::make_unique<PluginCredentials>(*access.plugin, std::move(first), clock, run_program);
}

// Returns an upper bound for the number of values in a JSON text.
std::ptrdiff_t count_values(std::string_view text) {
  return 1 + std::ranges::count_if(text, [](char c) { return c == '{' || c == '[' || c == ','; });
}

Result<json> parse_reply(std::string_view body) {
  if (count_values(body) > kReplyValuesMax)
    return Error(ErrorKind::kInvalid,
                 "the reply has more than " + std::to_string(kReplyValuesMax) + " values");
  return parse_json_without_list(kube::kManagedFieldsKey, body, kReplyBytesMax, kJsonDepthMax);
}

}  // namespace

ApiClient::ApiClient(kube::ApiServerAccess access, const Clock& clock, OnCall on_call, const Fence* fence,
                     std::unique_ptr<http::HttpTransport> transport)
    : access_(std::move(access)),
      clock_(clock),
      on_call_(std::move(on_call)),
      fence_(fence),
      token_file_(access_.token_file.empty() ? nullptr
                                             : std::make_unique<TokenFile>(access_.token_file, clock)),
      plugin_(make_plugin(access_, clock)),
      transport_(transport ? std::move(transport) : make_transport(access_, clock)) {}

Result<http::Request> ApiClient::prepare_request(const kube::ApiRequest& request) const {
  http::Request prepared{
      .method = request.method, .url = access_.server + request.target, .body = request.body};
  prepared.headers.set("Accept", "application/json");
  if (!request.content_type.empty()) prepared.headers.set("Content-Type", request.content_type);
  auto token = plugin_       ? plugin_->token()
               : token_file_ ? Result<std::string>(token_file_->token())
                             : Result<std::string>(access_.token);
  if (!token) return token.error();
  if (!token->empty()) prepared.headers.set("Authorization", std::string(kBearerPrefix) + *token);
  return prepared;
}

bool ApiClient::mark_token_refused(const http::Request& refused) const {
  const std::string_view sent = refused.headers.get("Authorization");
  if (!plugin_ || !sent.starts_with(kBearerPrefix)) return false;
  plugin_->mark_refused(std::string(sent.substr(kBearerPrefix.size())));
  return true;
}

void ApiClient::report_call(const kube::ApiRequest& request, int status, Timestamp began) const {
  if (!on_call_) return;
  on_call_({.verb = request.verb,
            .resource = request.resource,
            .status = status,
            .seconds = seconds(clock_.now() - began)});
}

bool ApiClient::may_send_write(const kube::ApiRequest& request, Timestamp now) const {
  return fence_ == nullptr || request.method == "GET" || fence_->is_open(now);
}

Result<json> ApiClient::call(const kube::ApiRequest& request, const std::stop_token& stop,
                             Duration timeout) const {
  std::optional<kube::ApiFailure> ignored;
  return call(request, stop, timeout, ignored);
}

Result<json> ApiClient::call(const kube::ApiRequest& request, const std::stop_token& stop, Duration timeout,
                             std::optional<kube::ApiFailure>& refusal) const {
  for (bool is_last = false;; is_last = true) {
    refusal.reset();
    const Timestamp began = clock_.now();
    const auto prepared = prepare_request(request);
    if (!prepared) return prepared.error();
    if (!may_send_write(request, clock_.now())) {  // last, after all steps that may take time
      return Error(ErrorKind::kUnavailable, "the " + std::string(request.verb) + " of " +
                                                std::string(request.resource) +
                                                " is not sent: this operator no longer leads");
    }
    const auto reply = transport_->call(
        *prepared, {.total = timeout, .silence = timeout, .body_bytes_max = kReplyBytesMax}, stop);
    report_call(request, reply ? reply->status : 0, began);
    if (!reply) return reply.error();
    if (reply->status >= 200 && reply->status < 300) return parse_reply(reply->body);
    refusal = kube::read_api_failure(reply->status, reply->body, reply->headers.get("Retry-After"));
    if (refusal->status != 401 || is_last || !mark_token_refused(*prepared)) return refusal->error;
  }
}

Result<json> ApiClient::call(const Result<kube::ApiRequest>& request, const std::stop_token& stop,
                             Duration timeout) const {
  if (!request) return request.error();
  return call(*request, stop, timeout);
}

Result<http::ResponseHead> ApiClient::stream(const kube::ApiRequest& request, const http::Limits& limits,
                                             http::BodySink& sink, std::stop_token stop) const {
  const Timestamp began = clock_.now();
  const auto prepared = prepare_request(request);
  if (!prepared) return prepared.error();
  auto head = transport_->stream(*prepared, limits, sink, std::move(stop));
  report_call(request, head ? head->status : 0, began);
  if (head && head->status == 401) static_cast<void>(mark_token_refused(*prepared));
  return head;
}

}  // namespace ratoon::runtime
