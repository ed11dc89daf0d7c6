// Reporting: what rank 0 tells of a run while it runs: the bar, and the history on the disk. Nothing of it
// ends a training: what cannot be written is said once and left out.
//
// Thread contract: the training thread; before_commit() from the saver's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/progress_bar.h>
#include <ratoon/until.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/history/line.h"
#include "agent/src/session/history_writer.h"
#include "agent/src/session/run_ledger.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

class Reporting {
 public:
  struct Begin {
    std::string title;
    Attempt attempt{0};
    Until until = Until::steps(0);
    RunPosition position{};
    std::optional<history::Place> history_after{};
    // Where the time of the run went until now: a row at the beginning and at the end of an attempt, with
    // each save, and so often in between that a kill loses little. Called from other threads, too.
    std::function<std::optional<RunLedger>()> ledger{};
  };
  // `disk` is the run's folder; without one there is no history.
  Reporting(const Begin& begin, std::shared_ptr<checkpoint::Disk> disk, const Clock& clock);
  ~Reporting();
  Reporting(const Reporting&) = delete;
  Reporting& operator=(const Reporting&) = delete;

  // Values of the step under way; the mean where one name comes twice, weighted by samples.
  void report(std::string_view name, double value, std::uint64_t samples);
  // Known to be the mean of all ranks: instead of what was reported so far in this step.
  void replace(std::string_view name, double weighted_sum, double samples);
  void end_step(const RunPosition& position);
  // A row of another kind.
  void note(const history::Row& row) {
    if (history_) history_->append(row);
  }
  // As the bar shows it.
  [[nodiscard]] Outlook outlook(const RunPosition& position) const;
  void show_durable(const RunPosition& durable) { bar_.show_durable(shown(durable)); }
  // Takes the bar away for a sentence.
  void make_room() { bar_.clear(); }

  // Up to where the history belongs to a checkpoint of now; handed to the writer of commits, so that it lasts
  // before the manifest does.
  [[nodiscard]] std::optional<history::Place> history_place();
  [[nodiscard]] const std::shared_ptr<HistoryWriter>& history() const { return history_; }

 private:
  struct Sum {
    double weighted = 0;
    double samples = 0;
  };
  void append_ledger();
  // A row of the ledger, if it is time for one; of the history's thread.
  [[nodiscard]] HistoryWriter::Sampled sampled_ledger() const;
  [[nodiscard]] std::uint64_t shown(const RunPosition& position) const;

  const Until until_;
  const std::function<std::optional<RunLedger>()> ledger_;
  const Clock& clock_;
  const std::uint64_t total_;
  std::optional<double> loss_;
  ProgressBar bar_;
  std::shared_ptr<HistoryWriter> history_;  // the saver's writer may need it longer
  std::map<std::string, Sum, std::less<>> values_;
};

}  // namespace ratoon::session
