// StatusFile: decides when to write status.json. A change is written to the disk before `ratoon run` acts on
// it, unless the disk is slow. Numbers that only grow, such as steps, are written later, because each write
// waits for the disk. If the disk is full, fails, hangs or becomes read-only, there is only a warning, and
// the run goes on: trainers tolerate such a disk for a while, too.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <string>

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
  // A decision waits this long for the disk, and no longer while an earlier write hangs.
  static constexpr Duration kDecisionTimeout = std::chrono::seconds(2);
  // After this time a write that hangs is reported. The first and the last write of a run wait as long.
  static constexpr Duration kHungAfter = std::chrono::seconds(10);
  struct Timeouts {
    Duration of_decision = kDecisionTimeout;
    Duration of_first_and_last = kHungAfter;
  };
  // Begins to write the document on another thread.
  using Write = std::function<std::future<Result<void>>(const nlohmann::json& document)>;
  using Say = std::function<void(const std::string& sentence)>;

  // `path` is for messages.
  StatusFile(std::string path, Write write, Say say, Timeouts timeouts)
      : path_(std::move(path)), write_(std::move(write)), say_(std::move(say)), timeouts_(timeouts) {}
  StatusFile(std::string path, Write write, Say say)
      : StatusFile(std::move(path), std::move(write), std::move(say), Timeouts()) {}

  // Returns an error only if the run's very first write fails. Later errors are reported once, and the next
  // call tries again. If only numbers have grown, waits with the write until kPause has passed since the last
  // one. While a write hangs, begins no other: a call after its end writes the newest document.
  [[nodiscard]] Result<void> put(nlohmann::json document, Timestamp now);
  // Writes the document without a delay, after a write that hangs, and waits for both for a limited time.
  // Reports an error, too.
  [[nodiscard]] Result<void> put_last(nlohmann::json document);

 private:
  struct PendingWrite {
    nlohmann::json document;
    Timestamp began;
    std::future<Result<void>> outcome;
  };

  void begin(nlohmann::json document, Timestamp now);
  // Returns the outcome of the write that was begun, or nothing if it takes longer.
  [[nodiscard]] std::optional<Result<void>> end_within(Duration at_most);
  void tell_trouble(const Result<void>& outcome);
  [[nodiscard]] Result<void> hung() const;

  const std::string path_;
  const Write write_;
  const Say say_;
  const Timeouts timeouts_;
  std::optional<PendingWrite> pending_;
  nlohmann::json written_;
  Timestamp written_at_{};
  bool is_troubled_ = false;
};

}  // namespace ratoon::local
