// StatusFile: decides when status.json is written. A change is written to the disk before the runner acts on
// it. Figures that only grow are written later, because each write waits for the disk. A disk that is full,
// fails or has become read-only is only a warning: trainers tolerate it for longer than one write, and the
// run lives as long as they do.
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::local {

// Whether only the position, the rate or the newest checkpoint differ. For the first checkpoint of the run
// the result is false.
[[nodiscard]] bool has_only_grown(const nlohmann::json& before, const nlohmann::json& next);

class StatusFile {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds(500);
  using Write = std::function<Result<void>(const nlohmann::json& document)>;
  using Say = std::function<void(const std::string& sentence)>;

  explicit StatusFile(
      Write write, Say say = [](const std::string&) {})
      : write_(std::move(write)), say_(std::move(say)) {}

  // Returns an error only if the first write of all fails. Later errors are reported once, and the next call
  // tries again. If only figures have grown, the write is delayed until a call at least kPause after the last
  // write.
  [[nodiscard]] Result<void> put(nlohmann::json document, Timestamp now);
  // Writes the whole document now.
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
