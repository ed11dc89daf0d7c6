#include "operator/runtime/metrics/metrics_page.h"

#include <memory>
#include <string>

namespace ratoon::runtime {
namespace {

class Place {
 public:
  using Free = std::counting_semaphore<MetricsPage::kReadersMax>;
  explicit Place(Free& free) : free_(free), is_taken_(free.try_acquire()) {}
  ~Place() {
    if (is_taken_) free_.release();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] bool is_taken() const { return is_taken_; }

 private:
  Free& free_;
  const bool is_taken_;
};

}  // namespace

void MetricsPage::show(http::Responder responder) {
  const Place place(free_);
  if (!place.is_taken()) {
    return responder.send(
        {.status = 503,
         .headers = {{"Retry-After", "5"}},
         .body = std::to_string(kReadersMax) + " other readers are reading the metrics now: ask again\n"});
  }
  const auto reply = responder.stream(200, {{"Content-Type", "text/plain; version=0.0.4"}});
  bool is_read = true;
  write_([&](std::string_view piece) { return is_read = is_read && reply->write(piece).has_value(); });
  if (is_read) reply->finish();
}

}  // namespace ratoon::runtime
