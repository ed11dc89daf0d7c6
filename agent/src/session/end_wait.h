// EndWait: how long the end of a run waits for other ranks' part of the last checkpoint, and when it says so.
// Ranks that write are waited for as long as they write; where nothing of the checkpoint changes for the
// whole patience, nothing will. Pure: time and what was seen come in.
//
//   EndWait wait(now, 5min);
//   if (wait.is_look_due(now)) saver.ask_for_votes();
//   wait.note(now, progress.votes);
//   if (wait.is_word_due(now)) say(...);
//   if (wait.is_over(now)) fail(...);
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "agent/src/checkpoint/votes.h"
#include "base/core/clock.h"

namespace ratoon::session {

class EndWait {
 public:
  EndWait(Timestamp now, Duration patience)
      : patience_(patience), changed_(now), next_look_(now), next_word_(now + kFirstWord) {}

  // Each second at first, and then every five.
  [[nodiscard]] bool is_look_due(Timestamp now);
  // This process has work of its own to do: nothing else is waited for.
  void note_own_work(Timestamp now) { changed_ = now; }
  void note(Timestamp now, const std::optional<checkpoint::Votes>& votes);
  // After ten seconds, and every minute from then on.
  [[nodiscard]] bool is_word_due(Timestamp now);
  // What is waited for takes longer than was known.
  void grow_patience(Duration patience) { patience_ = std::max(patience_, patience); }
  [[nodiscard]] bool is_over(Timestamp now) const { return now - changed_ > patience_; }
  [[nodiscard]] Duration patience() const { return patience_; }
  // As they were noted last.
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

// "rank 1 has not written its part of the checkpoint of step 30 in /runs/a", and what to look at.
[[nodiscard]] std::string what_the_end_waits_for(const std::optional<checkpoint::Votes>& votes,
                                                 const std::string& place);

}  // namespace ratoon::session
