// session/telemetry/: the reports of a run: lines on stderr, the bar, the history, and the account of its
// time.
//
// Reporting: the reports of rank 0 while a run is in progress: the bar, and the history on the disk.
// Reporting never ends a training: a write error is reported once, and rows are left out.
//
// Thread contract: the training thread. history() is used by the saver's thread, too.
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
#include "agent/src/session/telemetry/history_writer.h"
#include "agent/src/session/telemetry/run_ledger.h"
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
    std::optional<history::HistoryPosition> history_after{};
    // Returns the ledger of the run's time so far. Ledger rows are written at an attempt's begin and end,
    // with each save, and so often in between that a kill loses little. Other threads call `ledger`, too.
    std::function<std::optional<RunLedger>()> ledger{};
  };
  // `disk` is the run's folder; without a folder there is no history.
  Reporting(const Begin& begin, std::shared_ptr<checkpoint::Disk> disk, const Clock& clock);
  ~Reporting();
  Reporting(const Reporting&) = delete;
  Reporting& operator=(const Reporting&) = delete;

  // Reports values of the current step. Several values of one name are averaged, weighted by
  // samples.
  void report(std::string_view name, double value, std::uint64_t samples);
  // Replaces the values that this rank reported in this step by the mean of all ranks.
  void replace(std::string_view name, double weighted_sum, double samples);
  void end_step(const RunPosition& position);
  // Adds a row to the history that is not a row of the ledger or of a step.
  void note(const history::Row& row) {
    if (history_) history_->append(row);
  }
  // Returns the expected remaining time, as the bar shows it.
  [[nodiscard]] Outlook outlook(const RunPosition& position) const;
  void show_durable(const RunPosition& durable) { bar_.show_durable(shown(durable)); }
  // Removes the progress bar before a sentence is printed.
  void make_room() { bar_.clear(); }

  // Returns the end of the history, for a checkpoint that is made now. The commit of that checkpoint syncs
  // the history up to this end before it writes the manifest.
  [[nodiscard]] std::optional<history::HistoryPosition> history_place();
  [[nodiscard]] const std::shared_ptr<HistoryWriter>& history() const { return history_; }

 private:
  struct Sum {
    double weighted = 0;
    double samples = 0;
  };
  void append_ledger();
  // Returns a function that returns a row if one is due. It runs on the history's thread.
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
