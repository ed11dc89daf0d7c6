// FinalCommitWait decides how long a process at the run's end waits for other ranks' files of the last
// checkpoint, and when it reports this wait. The wait continues as long as other ranks write. The wait ends
// when no file of the checkpoint has changed for the duration `patience`. FinalCommitWait does no I/O: the
// time and the observations are arguments of its functions.
//
//   FinalCommitWait wait(now, 5min);
//   if (wait.is_check_due(now)) saver.ask_for_votes();
//   wait.note_votes(now, progress.votes);
//   if (wait.is_report_due(now)) say(...);
//   if (wait.is_over(now)) fail(...);
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "agent/src/checkpoint/commit/votes.h"
#include "base/core/clock.h"

namespace ratoon::session {

class FinalCommitWait {
 public:
  FinalCommitWait(Timestamp now, Duration patience)
      : timeout_(patience),
        last_change_at_(now),
        next_check_at_(now),
        next_report_at_(now + kFirstReportAfter) {}

  // Returns whether to check for new files: at the first call, and then every five seconds.
  [[nodiscard]] bool is_check_due(Timestamp now);
  // Records that this process still writes its own part. The measured time without new files starts again at
  // 0.
  void note_own_work(Timestamp now) { last_change_at_ = now; }
  void note_votes(Timestamp now, const std::optional<checkpoint::Votes>& votes);
  // Returns whether to report the wait: after ten seconds, and then every minute.
  [[nodiscard]] bool is_report_due(Timestamp now);
  // Lengthens the wait. The engine calls extend_timeout() if the work of the other ranks takes longer than
  // expected.
  void extend_timeout(Duration patience) { timeout_ = std::max(timeout_, patience); }
  [[nodiscard]] bool is_over(Timestamp now) const { return now - last_change_at_ > timeout_; }
  [[nodiscard]] Duration patience() const { return timeout_; }
  // Returns the votes from the latest call of note_votes(). A vote shows that a rank has written its file.
  [[nodiscard]] const std::optional<checkpoint::Votes>& votes() const { return last_votes_; }

 private:
  static constexpr Duration kFirstReportAfter = std::chrono::seconds(10);
  static constexpr Duration kReportInterval = std::chrono::minutes(1);
  static constexpr Duration kCheckInterval = std::chrono::seconds(5);

  Duration timeout_;
  Timestamp last_change_at_;
  Timestamp next_check_at_;
  Timestamp next_report_at_;
  std::optional<checkpoint::Votes> last_votes_;
};

// Returns a text such as "no file of rank 1 for the checkpoint of step 30 exists in /runs/a".
[[nodiscard]] std::string describe_final_wait(const std::optional<checkpoint::Votes>& votes,
                                              const std::string& place);

}  // namespace ratoon::session
