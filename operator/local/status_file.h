// StatusFile: when status.json is written. What happened is on the disk before anybody acts on it; numbers
// that have only grown can wait for a moment, since each write waits for the disk. A disk that is full, fails
// or has become read-only is a warning: trainers are more patient with it than one write, and the run lives
// as long as they do.
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::local {

// Whether what differs is the position, the rate or the newest checkpoint alone. The first one is something
// that happened.
[[nodiscard]] bool has_only_grown(const nlohmann::json& before, const nlohmann::json& next);

class StatusFile {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds(500);
  using Write = std::function<Result<void>(const nlohmann::json& document)>;
  using Say = std::function<void(const std::string& sentence)>;

  explicit StatusFile(
      Write write, Say say = [](const std::string&) {})
      : write_(std::move(write)), say_(std::move(say)) {}

  // An error where the first write of all fails. Once something was written, any error is said, once, and the
  // next call tries again. What has only grown is left for a later call, until so much time has passed since
  // the last write.
  [[nodiscard]] Result<void> put(nlohmann::json document, Timestamp now);
  // All of it, now.
  [[nodiscard]] Result<void> put_last(nlohmann::json document);

 private:
  [[nodiscard]] Result<void> write(nlohmann::json document);

  Write write_;
  Say say_;
  nlohmann::json written_;
  Timestamp written_at_{};
  bool is_troubled_ = false;
};

}  // namespace ratoon::local
