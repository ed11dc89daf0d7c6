#include "operator/coordinator/superseded_starts.h"

#include <algorithm>

namespace ratoon::coordinator {
namespace {

// The greatest number of remembered starts: enough if all processes of a large job were started again.
constexpr std::size_t kRememberedStartsMax = 65536;

}  // namespace

void SupersededStarts::add(const ProcessIdentity& process) {
  if (starts_by_sequence_number_.size() == kRememberedStartsMax)
    forget(starts_by_sequence_number_.begin()->first);
  const ProcessKey process_key = process_key_of(process);
  starts_[process_key].push_back({.process = process, .sequence_number = next_sequence_number_});
  starts_by_sequence_number_.emplace(next_sequence_number_++, process_key);
}

bool SupersededStarts::supersede_other_starts(const ProcessIdentity& process) {
  const auto found = starts_.find(process_key_of(process));
  if (found == starts_.end()) return false;
  auto& others = found->second;
  bool is_any_news = false;
  std::erase_if(others, [&](Start& other) {
    if (other.process == process) {
      starts_by_sequence_number_.erase(other.sequence_number);
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

void SupersededStarts::forget(std::uint64_t sequence_number) {
  const auto found = starts_.find(starts_by_sequence_number_.at(sequence_number));
  std::erase_if(found->second,
                [sequence_number](const Start& other) { return other.sequence_number == sequence_number; });
  if (found->second.empty()) starts_.erase(found);
  starts_by_sequence_number_.erase(sequence_number);
}

}  // namespace ratoon::coordinator
