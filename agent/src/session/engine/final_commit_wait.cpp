#include "agent/src/session/engine/final_commit_wait.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/core/lists.h"

namespace ratoon::session {
namespace {

constexpr std::size_t kNamedMax = 8;

std::string text_of(const std::vector<Rank>& ranks) {
  const auto named = std::span(ranks).first(std::min(ranks.size(), kNamedMax));
  const std::string text = join(named, ", ", [](Rank rank) { return std::to_string(rank.value()); });
  const std::string more =
      ranks.size() > kNamedMax ? " and " + std::to_string(ranks.size() - kNamedMax) + " more" : "";
  return (ranks.size() == 1 ? "rank " : "ranks ") + text + more;
}

}  // namespace

bool FinalCommitWait::is_look_due(Timestamp now) {
  if (now < next_look_) return false;
  next_look_ = now + kLook;
  return true;
}

void FinalCommitWait::note(Timestamp now, const std::optional<checkpoint::Votes>& votes) {
  if (!votes || votes == seen_) return;
  seen_ = votes;
  changed_ = now;
}

bool FinalCommitWait::is_report_due(Timestamp now) {
  if (now < next_word_) return false;
  next_word_ = now + kNextWord;
  return true;
}

std::string describe_final_wait(const std::optional<checkpoint::Votes>& votes, const std::string& place) {
  if (!votes) return "the last checkpoint is not committed in " + place;
  const std::string step = "the checkpoint of step " + std::to_string(votes->id.step.value());
  if (votes->missing.empty())
    return "all ranks have written " + step + " in " + place + ", but rank 0 has not committed it";
  return "no file of " + text_of(votes->missing) + " for " + step + " exists in " + place +
         ": check the output of these ranks, and whether this folder is the same on their machines";
}

}  // namespace ratoon::session
