// FinalCommitWait decides how long a process at the run's end waits for other ranks' files of the last
// checkpoint, and when it reports this wait. The wait continues as long as other ranks write. The wait ends
// when no file of the checkpoint has changed for the duration `patience`. The class does no I/O: the time and
// the observations are arguments.
//
//   FinalCommitWait wait(now, 5min);
//   if (wait.is_look_due(now)) saver.ask_for_votes();
//   wait.note(now, progress.votes);
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
      : patience_(patience), changed_(now), next_look_(now), next_word_(now + kFirstWord) {}

  // Returns whether to check for new files: at the first call, and then every five seconds.
  [[nodiscard]] bool is_look_due(Timestamp now);
  // Restarts the time without new files, because this process itself has not finished its own part.
  void note_own_work(Timestamp now) { changed_ = now; }
  void note(Timestamp now, const std::optional<checkpoint::Votes>& votes);
  // Returns whether to report the wait: after ten seconds, and then every minute.
  [[nodiscard]] bool is_report_due(Timestamp now);
  // Lengthens the wait. The engine calls grow_patience() if the work of the other ranks takes longer than
  // expected.
  void grow_patience(Duration patience) { patience_ = std::max(patience_, patience); }
  [[nodiscard]] bool is_over(Timestamp now) const { return now - changed_ > patience_; }
  [[nodiscard]] Duration patience() const { return patience_; }
  // Returns the votes from the last call of note(). A rank votes when its file is written.
  [[nodiscard]] const std::optional<checkpoint::Votes>& votes() const { return seen_; }

 private:
  static constexpr Duration kFirstWord = std::chrono::seconds(10);
  static constexpr Duration kNextWord = std::chrono::minutes(1);
  static constexpr Duration kLook = std::chrono::seconds(5);

  Duration patience_;
  Timestamp changed_;
  Timestamp next_look_;
  Timestamp next_word_;
  std::optional<checkpoint::Votes> seen_;
};

// Returns a text such as "no file of rank 1 for the checkpoint of step 30 exists in /runs/a".
[[nodiscard]] std::string describe_final_wait(const std::optional<checkpoint::Votes>& votes,
                                              const std::string& place);

}  // namespace ratoon::session
