#include "operator/runtime/api_server/ca_reloading_transport.h"

#include <utility>

#include "base/core/read_file.h"
#include "base/http/tls/tls_client.h"

namespace ratoon::runtime {
namespace {

constexpr Duration kCaReloadInterval = std::chrono::minutes(1);

}  // namespace

CaReloadingTransport::CaReloadingTransport(http::TransportOptions options, std::string ca_file,
                                           const Clock& clock)
    : ca_file_(std::move(ca_file)),
      clock_(clock),
      options_(std::move(options)),
      transport_(http::make_direct_transport(options_)),
      ca_read_at_(clock.now()) {}

Result<http::Response> CaReloadingTransport::call(const http::Request& request, const http::Limits& limits,
                                                  std::stop_token stop) {
  return current_transport()->call(request, limits, std::move(stop));
}

Result<http::ResponseHead> CaReloadingTransport::stream(const http::Request& request,
                                                        const http::Limits& limits, http::BodySink& sink,
                                                        std::stop_token stop) {
  return current_transport()->stream(request, limits, sink, std::move(stop));
}

std::shared_ptr<http::HttpTransport> CaReloadingTransport::current_transport() {
  const MutexLock lock(mutex_);
  const Timestamp now = clock_.now();
  if (now - ca_read_at_ < kCaReloadInterval) return transport_;
  ca_read_at_ = now;
  auto ca_pem = read_file(ca_file_);
  // Keep the current CA if the file cannot be read, has not changed or has only a part of its new content.
  if (!ca_pem || ca_pem->empty() || *ca_pem == options_.tls.ca_pem) return transport_;
  http::TransportOptions renewed = options_;
  renewed.tls.ca_pem = std::move(*ca_pem);
  if (!http::TlsClient::make(renewed.tls)) return transport_;
  options_ = std::move(renewed);
  transport_ = http::make_direct_transport(options_);
  return transport_;
}

}  // namespace ratoon::runtime
