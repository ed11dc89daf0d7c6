#include "agent/src/session/alone_link.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>

namespace ratoon::session {

Result<std::unique_ptr<Link>> AloneLink::open(const Options& options) {
  const auto folder = std::filesystem::path(options.save_folder) / options.run_name;
  const std::string path = (folder / "lock").string();
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.is_open()) return system_error(errno, "opening " + path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorKind::kAlreadyExists, "another process trains in " + folder.string() +
                                                ": wait for it, end it, or use another --run-name");
  }
  return std::unique_ptr<Link>(new AloneLink(std::move(lock)));
}

Result<Assignment> AloneLink::join(const std::vector<InventoryEntry>& inventory) {
  Assignment assignment{
      .attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rendezvous = "", .resume = {}};
  for (const auto& entry : inventory) {
    assignment.attempt = std::max(assignment.attempt, entry.attempt.next());
    if (!entry.is_complete || assignment.resume) continue;
    assignment.resume = ResumePoint{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  }
  return assignment;
}

void AloneLink::note(const Position&) {}

Result<void> AloneLink::complete(const Position&) {
  return {};
}

}  // namespace ratoon::session
