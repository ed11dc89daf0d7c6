#include "operator/local/member_logs.h"

#include <utility>

namespace ratoon::local {
namespace {

bool is_ready(const std::future<Result<UniqueFd>>& outcome, Duration at_most) {
  return outcome.wait_for(at_most) == std::future_status::ready;
}

}  // namespace

Result<UniqueFd> MemberLogs::open(const std::string& member) {
  // Close the logs that were opened for other members, because these members may never start. If such a
  // member starts later, its call of open() opens its log again.
  std::erase_if(pending_opens_,
                [&](const auto& one) { return one.first != member && is_ready(one.second, Duration(0)); });
  const Duration at_most = pending_opens_.empty() ? timeout_ : Duration(0);
  auto found = pending_opens_.find(member);
  if (found == pending_opens_.end()) {
    auto outcome = disk_.begin<UniqueFd>([open = open_, member] { return open(member); });
    found = pending_opens_.emplace(member, std::move(outcome)).first;
  }
  if (!is_ready(found->second, at_most))
    return Error(ErrorKind::kUnavailable, "the log of " + member +
                                              " cannot be opened for now: its disk does not answer; the "
                                              "member starts when the disk answers");
  auto opened = std::move(found->second);
  pending_opens_.erase(found);
  return opened.get();
}

}  // namespace ratoon::local
