#include "agent/src/session/options/check_group.h"

#include <string>

#include "base/contract/limits.h"

namespace ratoon::session {
namespace {

Error group_option_error(const std::string& field, const std::string& found, const std::string& expected) {
  return {ErrorKind::kInvalid, "Options::group." + field + " is " + found + ": expected " + expected};
}

Error group_option_error(const std::string& field, std::uint64_t found, const std::string& expected) {
  return group_option_error(field, std::to_string(found), expected);
}

std::string below_limit_text(const std::string& field, std::uint64_t limit) {
  return "a number below " + field + ", which is " + std::to_string(limit);
}

}  // namespace

bool is_group_set(const GroupOptions& group) {
  return group.size != 1 || group.rank != 0 || !group.name.empty();
}

Result<void> check_group(const Options& options) {
  const GroupOptions& group = options.group;
  if (group.size == 0 || group.size > contract::kWorldSizeMax)
    return group_option_error("size", group.size,
                              "1 to " + std::to_string(contract::kWorldSizeMax) + " ranks");
  if (group.rank >= group.size)
    return group_option_error("rank", group.rank, below_limit_text("size", group.size));
  if (group.local_size == 0 || group.local_size > group.size)
    return group_option_error("local_size", group.local_size,
                              "1 to " + std::to_string(group.size) + ", at most size");
  if (group.local_rank >= group.local_size)
    return group_option_error("local_rank", group.local_rank,
                              below_limit_text("local_size", group.local_size));
  if (group.name.size() > contract::kNameBytesMax)
    return group_option_error("name", std::to_string(group.name.size()) + " bytes long",
                              "at most " + std::to_string(contract::kNameBytesMax));
  if (group.size == 1) return {};
  if (group.name.empty())
    return group_option_error("name", "empty",
                              "a name that all ranks of this launch have, and no other launch");
  if (options.member.coordinator_url.empty()) return {};
  return group_option_error(
      "size", group.size,
      "1, because a coordinator gives this process its rank: fill Options::group only for a "
      "launcher that Ratoon does not know");
}

}  // namespace ratoon::session
