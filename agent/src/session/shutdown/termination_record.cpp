#include "agent/src/session/shutdown/termination_record.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/contract/codec.h"
#include "base/contract/names.h"
#include "base/core/unique_fd.h"

namespace ratoon::session {

Result<void> write_termination_record(const MemberOptions& member, const CompletionRecord& record) {
  if (member.termination_file.empty() || member.local_rank != 0) return {};
  const std::string what = std::string("writing the completion record to ") + member.termination_file + " (" +
                           names::env::kTerminationFile + ")";
  // Overwrite the file, because it is a mount point, and no other file can be renamed to its name.
  const UniqueFd file(
      ::open(member.termination_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return system_error(errno, what);
  const std::string text = encode(record);
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written < 0) return system_error(errno, what);
  if (static_cast<std::size_t>(written) != text.size()) return system_error(ENOSPC, what);
  return {};
}

}  // namespace ratoon::session
