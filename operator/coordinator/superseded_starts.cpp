#include "operator/coordinator/superseded_starts.h"

#include <algorithm>
#include <functional>
#include <string>

namespace ratoon::coordinator {
namespace {

// Enough for a process that is started again and again while messages of its earlier starts arrive late.
constexpr std::size_t kStartsOfProcessMax = 8;

}  // namespace

std::uint64_t SupersededStarts::hash_of(const ProcessIdentity& process) {
  return std::hash<std::string>()(process.member_uid + " " + process.start);
}

void SupersededStarts::add(const ProcessIdentity& process) {
  auto& starts = starts_[process_key_of(process)];
  if (starts.size() == kStartsOfProcessMax) starts.erase(starts.begin());
  starts.push_back({.hash = hash_of(process)});
}

bool SupersededStarts::supersede_other_starts(const ProcessIdentity& process) {
  const auto found = starts_.find(process_key_of(process));
  if (found == starts_.end()) return false;
  auto& others = found->second;
  std::erase_if(others, [hash = hash_of(process)](const Start& other) { return other.hash == hash; });
  bool is_any_news = false;
  for (Start& other : others) {
    is_any_news = is_any_news || !other.is_superseded;
    other.is_superseded = true;
  }
  if (others.empty()) starts_.erase(found);
  return is_any_news;
}

bool SupersededStarts::is_superseded(const ProcessIdentity& process) const {
  const auto found = starts_.find(process_key_of(process));
  return found != starts_.end() &&
         std::ranges::any_of(found->second, [hash = hash_of(process)](const Start& other) {
           return other.is_superseded && other.hash == hash;
         });
}

}  // namespace ratoon::coordinator
