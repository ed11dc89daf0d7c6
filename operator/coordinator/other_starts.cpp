#include "operator/coordinator/other_starts.h"

#include <algorithm>

namespace ratoon::coordinator {
namespace {

// A large job in which every process was started anew fits.
constexpr std::size_t kOthersMax = 65536;

}  // namespace

void OtherStarts::add(const ProcessIdentity& process) {
  if (turns_.size() == kOthersMax) forget(turns_.begin()->first);
  const Place place = place_of(process);
  others_[place].push_back({.process = process, .turn = next_turn_});
  turns_.emplace(next_turn_++, place);
}

bool OtherStarts::supersede_for(const ProcessIdentity& process) {
  const auto found = others_.find(place_of(process));
  if (found == others_.end()) return false;
  auto& others = found->second;
  bool is_any_news = false;
  std::erase_if(others, [&](Other& other) {
    if (other.process == process) {
      turns_.erase(other.turn);
      return true;
    }
    is_any_news = is_any_news || !other.is_superseded;
    other.is_superseded = true;
    return false;
  });
  if (others.empty()) others_.erase(found);
  return is_any_news;
}

bool OtherStarts::is_superseded(const ProcessIdentity& process) const {
  const auto found = others_.find(place_of(process));
  return found != others_.end() && std::ranges::any_of(found->second, [&](const Other& other) {
           return other.is_superseded && other.process == process;
         });
}

void OtherStarts::forget(std::uint64_t turn) {
  const auto found = others_.find(turns_.at(turn));
  std::erase_if(found->second, [turn](const Other& other) { return other.turn == turn; });
  if (found->second.empty()) others_.erase(found);
  turns_.erase(turn);
}

}  // namespace ratoon::coordinator
