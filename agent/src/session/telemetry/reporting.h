// session/telemetry/: the reports of a run: log lines on stderr, the progress bar, the history, and the
// accounting of its time.
//
// Reporting: on rank 0, shows the progress bar and writes the history to the disk during a run. A write error
// never ends the run. The first write error is logged, and the history then lacks rows.
//
// Thread contract: only the training thread uses a Reporting. The saver's thread also uses the result of
// history().
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
  struct ReportingStart {
    std::string title;
    Attempt attempt{0};
    Until until = Until::steps(0);
    RunPosition position{};
    std::optional<history::HistoryPosition> previous_history_end{};
    // The function `ledger` returns the ledger, which says how the run's time was spent. Reporting writes
    // rows of the ledger at the beginning and end of an attempt, with each save, and regularly in between. So
    // the history has a recent row even if the process is killed. Several threads call the function `ledger`.
    std::function<std::optional<RunLedger>()> ledger{};
  };
  // `disk` is the run's folder. If `disk` is null, no history is written.
  Reporting(const ReportingStart& begin, std::shared_ptr<checkpoint::Disk> disk, const Clock& clock);
  ~Reporting();
  Reporting(const Reporting&) = delete;
  Reporting& operator=(const Reporting&) = delete;

  // Reports a value of the current step. Several values with the same name in one step are averaged, weighted
  // by samples.
  void report(std::string_view name, double value, std::uint64_t samples);
  // Replaces the value that this rank reported in this step by the mean of all ranks, which is `weighted_sum`
  // divided by `samples`.
  void replace(std::string_view name, double weighted_sum, double samples);
  void end_step(const RunPosition& position);
  // Adds a row to the history that is neither a step row nor a ledger row.
  void append_row(const history::Row& row) {
    if (history_) history_->append(row);
  }
  // Returns the run's total length and its expected remaining time, as in the progress bar.
  [[nodiscard]] ProgressEstimate outlook(const RunPosition& position) const;
  void show_durable(const RunPosition& durable) { progress_bar_.show_durable(position_in_bar(durable)); }
  // Removes the progress bar before a message is printed.
  void clear_progress_bar() { progress_bar_.clear(); }

  // Returns the end of the history, for the manifest of a checkpoint that is saved now. The history up to the
  // returned position is synced before the manifest is written.
  [[nodiscard]] std::optional<history::HistoryPosition> history_end_position();
  [[nodiscard]] const std::shared_ptr<HistoryWriter>& history() const { return history_; }

 private:
  struct Sum {
    double weighted = 0;
    double samples = 0;
  };
  void append_ledger();
  // Returns a function that returns a ledger row when one is due, else nothing. The thread of the
  // HistoryWriter calls the returned function.
  [[nodiscard]] HistoryWriter::SampleRow make_ledger_sampler() const;
  [[nodiscard]] std::uint64_t position_in_bar(const RunPosition& position) const;

  const Until until_;
  const std::function<std::optional<RunLedger>()> ledger_;
  const Clock& clock_;
  const std::uint64_t total_length_;
  std::optional<double> loss_;
  ProgressBar progress_bar_;
  std::shared_ptr<HistoryWriter> history_;  // the saver's writer may need it longer
  std::map<std::string, Sum, std::less<>> values_;
};

}  // namespace ratoon::session
