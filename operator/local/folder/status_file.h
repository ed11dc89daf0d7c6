// StatusFile: decides when to write status.json. A changed status is written to the disk before `ratoon run`
// acts on the change. Numbers that only grow, such as steps, are written later, because each write waits for
// the disk. If the disk is full, fails or becomes read-only, there is only a warning, and the run goes on:
// trainers tolerate such a disk for a while, too.
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::local {

// Returns whether the two status documents differ only in position, rate or newest checkpoint. Returns false
// if `next` has the run's first checkpoint.
[[nodiscard]] bool has_only_grown(const nlohmann::json& before, const nlohmann::json& next);

class StatusFile {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds(500);
  using Write = std::function<Result<void>(const nlohmann::json& document)>;
  using Say = std::function<void(const std::string& sentence)>;

  explicit StatusFile(
      Write write, Say say = [](const std::string&) {})
      : write_(std::move(write)), say_(std::move(say)) {}

  // Returns an error only if the run's very first write fails. A later write error is reported once, and the
  // next call tries to write again. If only numbers have grown, waits with the write until kPause has passed
  // since the last write.
  [[nodiscard]] Result<void> put(nlohmann::json document, Timestamp now);
  // Writes the document at once, without a delay.
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
