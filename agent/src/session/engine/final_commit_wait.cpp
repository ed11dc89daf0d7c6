#include "agent/src/session/engine/final_commit_wait.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/core/split_join.h"

namespace ratoon::session {
namespace {

constexpr std::size_t kListedRanksMax = 8;

std::string text_of(const std::vector<Rank>& ranks) {
  const auto named = std::span(ranks).first(std::min(ranks.size(), kListedRanksMax));
  const std::string text = join(named, ", ", [](Rank rank) { return std::to_string(rank.value()); });
  const std::string more = ranks.size() > kListedRanksMax
                               ? " and " + std::to_string(ranks.size() - kListedRanksMax) + " more"
                               : "";
  return (ranks.size() == 1 ? "rank " : "ranks ") + text + more;
}

}  // namespace

bool FinalCommitWait::is_check_due(Timestamp now) {
  if (now < next_check_at_) return false;
  next_check_at_ = now + kCheckInterval;
  return true;
}

void FinalCommitWait::note_votes(Timestamp now, const std::optional<checkpoint::Votes>& votes) {
  if (!votes || votes == last_votes_) return;
  last_votes_ = votes;
  last_change_at_ = now;
}

bool FinalCommitWait::is_report_due(Timestamp now) {
  if (now < next_report_at_) return false;
  next_report_at_ = now + kReportInterval;
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
