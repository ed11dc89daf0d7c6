// StatusFile: decides when to write status.json. A change is written to the disk before `ratoon run` acts on
// it, unless the disk is slow. Numbers that only grow, such as steps, are written less often, because each
// write waits for the disk. If the disk is full, fails, hangs or becomes read-only, the run prints a warning
// and goes on: trainers also tolerate such a disk for a while.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::local {

// Returns whether the two status documents differ only in the training's progress or in the newest
// checkpoint. Returns false if `next` has the run's first checkpoint.
[[nodiscard]] bool differs_only_in_progress(const nlohmann::json& before, const nlohmann::json& next);

class StatusFile {
 public:
  static constexpr Duration kWriteIntervalMin = std::chrono::milliseconds(500);
  // An operator decision waits at most this long for the disk, and not at all while an earlier write hangs.
  static constexpr Duration kDecisionTimeout = std::chrono::seconds(2);
  // A write that takes longer than this is reported as hung. A run's first and last write wait for this time.
  static constexpr Duration kHungWriteTimeout = std::chrono::seconds(10);
  struct Timeouts {
    Duration decision_write = kDecisionTimeout;
    Duration first_and_last_write = kHungWriteTimeout;
  };
  // Begins to write the document on another thread.
  using BeginWrite = std::function<std::future<Result<void>>(const nlohmann::json& document)>;
  using Report = std::function<void(const std::string& sentence)>;

  // `path` is for messages.
  StatusFile(std::string path, BeginWrite write, Report say, Timeouts timeouts)
      : path_(std::move(path)), write_(std::move(write)), report_(std::move(say)), timeouts_(timeouts) {}
  StatusFile(std::string path, BeginWrite write, Report say)
      : StatusFile(std::move(path), std::move(write), std::move(say), Timeouts()) {}

  // Returns an error only if the run's very first write fails. Reports later errors once, and the next call
  // of put() tries the write again. If only the progress or the newest checkpoint has changed, put() does not
  // write before kWriteIntervalMin has passed since the last write. While a write hangs, put() begins no
  // other write; the first call after its end writes the newest document.
  [[nodiscard]] Result<void> put(nlohmann::json document, Timestamp now);
  // If an earlier write hangs, waits for a limited time for its end. Then writes `document` and waits for a
  // limited time for the end of this write. Returns an error if `document` could not be written.
  [[nodiscard]] Result<void> put_last(nlohmann::json document);

 private:
  struct PendingWrite {
    nlohmann::json document;
    Timestamp began;
    std::future<Result<void>> outcome;
  };

  void begin_write(nlohmann::json document, Timestamp now);
  // Returns the outcome of the pending write, or nothing if the write does not end within `at_most`.
  [[nodiscard]] std::optional<Result<void>> wait_for_write(Duration at_most);
  void report_outcome(const Result<void>& outcome);
  [[nodiscard]] Result<void> hung_write_error() const;

  const std::string path_;
  const BeginWrite write_;
  const Report report_;
  const Timeouts timeouts_;
  std::optional<PendingWrite> pending_;
  nlohmann::json last_written_;
  Timestamp last_written_at_{};
  bool is_failing_ = false;
};

}  // namespace ratoon::local
