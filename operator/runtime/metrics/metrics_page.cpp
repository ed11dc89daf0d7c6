#include "operator/runtime/metrics/metrics_page.h"

#include <memory>
#include <string>

namespace ratoon::runtime {

class MetricsPage::ReaderSlot {
 public:
  ReaderSlot(MetricsPage& page, const std::string& peer)
      : page_(page), address_(peer.substr(0, peer.rfind(':'))), is_taken_(take()) {}
  ~ReaderSlot() {
    if (!is_taken_) return;
    const MutexLock lock(page_.mutex_);
    page_.readers_.erase(page_.readers_.find(address_));
  }
  ReaderSlot(const ReaderSlot&) = delete;
  ReaderSlot& operator=(const ReaderSlot&) = delete;

  [[nodiscard]] bool is_taken() const { return is_taken_; }

 private:
  [[nodiscard]] bool take() {
    const MutexLock lock(page_.mutex_);
    if (page_.readers_.size() >= kReadersMax || page_.readers_.count(address_) >= kReadersPerAddressMax)
      return false;
    page_.readers_.insert(address_);
    return true;
  }

  MetricsPage& page_;
  const std::string address_;
  const bool is_taken_;
};

void MetricsPage::show(const std::string& peer, http::Responder responder) {
  const ReaderSlot place(*this, peer);
  if (!place.is_taken()) {
    return responder.send({.status = 503,
                           .headers = {{"Retry-After", "5"}},
                           .body = "too many clients read the metrics at the same time: try again later\n"});
  }
  const auto reply = responder.stream(200, {{"Content-Type", "text/plain; version=0.0.4"}});
  bool is_read = true;
  write_([&](std::string_view piece) { return is_read = is_read && reply->write(piece).has_value(); });
  if (is_read) reply->finish();
}

}  // namespace ratoon::runtime
