#include "operator/coordinator/superseded_starts.h"

#include <algorithm>

namespace ratoon::coordinator {
namespace {

// The greatest number of remembered starts: enough if all processes of a large job were started again.
constexpr std::size_t kOthersMax = 65536;

}  // namespace

void SupersededStarts::add(const ProcessIdentity& process) {
  if (turns_.size() == kOthersMax) forget(turns_.begin()->first);
  const ProcessKey process_key = process_key_of(process);
  starts_[process_key].push_back({.process = process, .turn = next_turn_});
  turns_.emplace(next_turn_++, process_key);
}

bool SupersededStarts::supersede_for(const ProcessIdentity& process) {
  const auto found = starts_.find(process_key_of(process));
  if (found == starts_.end()) return false;
  auto& others = found->second;
  bool is_any_news = false;
  std::erase_if(others, [&](Start& other) {
    if (other.process == process) {
      turns_.erase(other.turn);
      return true;
    }
    is_any_news = is_any_news || !other.is_superseded;
    other.is_superseded = true;
    return false;
  });
  if (others.empty()) starts_.erase(found);
  return is_any_news;
}

bool SupersededStarts::is_superseded(const ProcessIdentity& process) const {
  const auto found = starts_.find(process_key_of(process));
  return found != starts_.end() && std::ranges::any_of(found->second, [&](const Start& other) {
           return other.is_superseded && other.process == process;
         });
}

void SupersededStarts::forget(std::uint64_t turn) {
  const auto found = starts_.find(turns_.at(turn));
  std::erase_if(found->second, [turn](const Start& other) { return other.turn == turn; });
  if (found->second.empty()) starts_.erase(found);
  turns_.erase(turn);
}

}  // namespace ratoon::coordinator
