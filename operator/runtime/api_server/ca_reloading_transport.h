// CaReloadingTransport: calls an API server whose CA is in a file that may change, because clusters renew
// their CA. Reads the CA file once a minute. A call uses one CA until its end, even if the file changes.
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/threads/mutex.h"
#include "base/http/transport.h"

namespace ratoon::runtime {

class CaReloadingTransport final : public http::HttpTransport {
 public:
  // `options.tls.ca_pem` is the current content of the file. The clock must outlive this object.
  CaReloadingTransport(http::TransportOptions options, std::string ca_file, const Clock& clock);

  [[nodiscard]] Result<http::Response> call(const http::Request& request, const http::Limits& limits,
                                            std::stop_token stop) override;
  [[nodiscard]] Result<http::ResponseHead> stream(const http::Request& request, const http::Limits& limits,
                                                  http::BodySink& sink, std::stop_token stop) override;

 private:
  [[nodiscard]] std::shared_ptr<http::HttpTransport> current_transport();

  const std::string ca_file_;
  const Clock& clock_;
  Mutex mutex_;
  http::TransportOptions options_ RATOON_GUARDED_BY(mutex_);
  std::shared_ptr<http::HttpTransport> transport_ RATOON_GUARDED_BY(mutex_);
  Timestamp ca_read_at_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::runtime
