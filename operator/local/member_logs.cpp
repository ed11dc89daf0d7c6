#include "operator/local/member_logs.h"

#include <utility>

namespace ratoon::local {
namespace {

bool is_ready(const std::future<Result<UniqueFd>>& outcome, Duration at_most) {
  return outcome.wait_for(at_most) == std::future_status::ready;
}

}  // namespace

Result<UniqueFd> MemberLogs::open(const std::string& member) {
  // Drop the opened logs of other members: those members no longer start.
  std::erase_if(under_way_,
                [&](const auto& one) { return one.first != member && is_ready(one.second, Duration(0)); });
  const Duration at_most = under_way_.empty() ? timeout_ : Duration(0);
  auto found = under_way_.find(member);
  if (found == under_way_.end()) {
    auto outcome = disk_.begin<UniqueFd>([open = open_, member] { return open(member); });
    found = under_way_.emplace(member, std::move(outcome)).first;
  }
  if (!is_ready(found->second, at_most))
    return Error(ErrorKind::kUnavailable, "the log of " + member +
                                              " cannot be opened for now: its disk does not answer; the "
                                              "member starts once it does");
  auto opened = std::move(found->second);
  under_way_.erase(found);
  return opened.get();
}

}  // namespace ratoon::local
