#include "agent/src/session/locations/folder_lock.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/objects/object_key.h"
#include "agent/src/objects/store_uri.h"
#include "agent/src/session/options/location_options.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/durable_folder.h"
#include "base/core/split_join.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

// The lock file is private, because a user who could open it could lock it and so prevent another user's run
// from starting.
constexpr mode_t kLockMode = 0600;

// Returns the error for a lock that another process of this machine holds.
Error lock_taken_error(const std::string& place) {
  return {ErrorKind::kAlreadyExists,
          "another process trains in " + place + ": wait for it, end it, or use another --run-name"};
}

// Takes a lock by binding an abstract socket name of Linux instead of a file. The kernel gives a socket name
// to only one process, and releases the name when the process ends.
Result<FdClosedOnFork> lock_socket_name(const std::string& place) {
  const std::string name = "ratoon-run-" + to_hex(xxh3_128(std::as_bytes(std::span(place))));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(&address.sun_path[1], name.data(), name.size());  // after a zero byte: no file
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  UniqueFd lock(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!lock.is_open()) return system_error(errno, "making a lock for " + place);
  if (::bind(lock.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0)
    return FdClosedOnFork(std::move(lock));
  return errno == EADDRINUSE ? lock_taken_error(place) : system_error(errno, "locking " + place);
}

Result<FdClosedOnFork> lock_file(const std::filesystem::path& folder, FolderUse use) {
  const std::string path = (folder / checkpoint::kLockFile).string();
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kLockMode));
  const int number = errno;
  if (!lock.is_open() && number == ELOOP)
    return Error(ErrorKind::kInvalid,
                 path + " is a symbolic link, and links in a run's folder are not followed: remove the link");
  if (!lock.is_open()) {
    const Error refused = system_error(number, "opening " + path);
    return number == EACCES || number == EPERM ? add_write_permission_hint(refused, folder) : refused;
  }
  static_cast<void>(::fchmod(lock.get(), kLockMode));  // an older version made it readable for others
  if (::flock(lock.get(), (use == FolderUse::kExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return held_lock_error(lock.get(), "another process trains in " + folder.string());
    const Error refused = system_error(errno, "locking " + path);
    return Error(refused.kind(), refused.message() + ": use a folder on a file system with locks");
  }
  write_holder(lock.get());
  return FdClosedOnFork(std::move(lock));
}

// Returns a text that changes each time that a run commits a checkpoint or writes its history.
// read_folder_activity() ignores ranks' checkpoint files, because other ranks may still write them after the
// run has lost its rank 0.
std::string read_folder_activity(const std::filesystem::path& folder) {
  std::set<std::string> seen;  // sorted: a folder may be listed in another order each time
  for (const char* name : {checkpoint::kManifests, checkpoint::kHistory}) {
    std::error_code code;
    for (std::filesystem::directory_iterator at(folder / name, code), end; !code && at != end;
         at.increment(code)) {
      std::error_code ignored;
      seen.insert(at->path().filename().string() + " " + std::to_string(at->file_size(ignored)));
    }
  }
  return join(std::vector<std::string>(seen.begin(), seen.end()), "\n",
              [](const std::string& line) { return line; });
}

struct LockResult {
  Result<FdClosedOnFork> lock;
  bool is_held = false;  // whether another process holds it
};

LockResult lock_with_waiting(const std::filesystem::path& folder,
                             const std::function<Result<FdClosedOnFork>()>& lock,
                             checkpoint::CallsWithTimeout& calls, const LockWaitOptions& waiting) {
  bool is_held = false;
  const auto take = [&] {
    auto taken = calls("locking " + folder.string(), lock);
    is_held = !taken && (taken.error().kind() == ErrorKind::kAlreadyExists ||
                         taken.error().kind() == ErrorKind::kConflict);
    return taken;
  };
  const auto life = [&] {
    const auto found = calls("looking into " + folder.string(),
                             [folder]() -> Result<std::string> { return read_folder_activity(folder); });
    return found ? *found : std::string();
  };
  auto taken = take_when_free(take, life, waiting, SystemClock());
  return {.lock = std::move(taken), .is_held = is_held};
}

Result<FdClosedOnFork> lock_home(const Options& options, FolderUse use, checkpoint::CallsWithTimeout& calls,
                                 const LockWaitOptions& waiting) {
  // Several ranks may run on one machine, so they take no lock by a socket name. For a bucket, the claim in
  // the bucket excludes other jobs.
  if (is_home_in_store(options) && use == FolderUse::kShared) return FdClosedOnFork();
  if (is_home_in_store(options)) return lock_socket_name(home_location(options));
  const auto folder = run_folder(options);
  return lock_with_waiting(folder, [folder, use] { return lock_file(folder, use); }, calls, waiting).lock;
}

// Returns the run's folders in those stores that are folders, for locking.
std::vector<std::filesystem::path> folders_of_stores(const Options& options) {
  std::vector<std::filesystem::path> folders;
  for (const std::string& text : options.stores) {
    const auto uri = objects::parse_store_uri(objects::join_uri(text, options.run_name));
    if (uri && uri->scheme == objects::StoreScheme::kFile) folders.emplace_back(uri->path);
  }
  return folders;
}

// Returns the warning for a store's folder that does not answer or has no locks. The run continues without
// the lock of this folder.
std::string unlocked_store_warning(const std::filesystem::path& folder, const Error& why) {
  return "warning: the folder " + folder.string() +
         " of a store (--stores) cannot be locked: " + why.message() +
         "; training goes on without that lock. Other runs that claim the store are still kept out, but a "
         "process that trains alone in that folder is not: do not use that folder for other runs, or choose "
         "a folder with locks for this store";
}

}  // namespace

Result<FolderLocks> lock_folders(const Options& options, FolderUse use, checkpoint::CallsWithTimeout& calls,
                                 const LockWaitOptions& waiting) {
  FolderLocks locks;
  auto home = lock_home(options, use, calls, waiting);
  if (!home) return home.error();
  locks.push_back(*std::move(home));
  std::vector<std::string> warnings;
  for (const auto& folder : folders_of_stores(options)) {
    const auto take = [folder]() -> Result<FdClosedOnFork> {
      std::error_code code;
      std::filesystem::create_directories(folder, code);
      return lock_file(folder, FolderUse::kShared);
    };
    auto [lock, is_held] = lock_with_waiting(folder, take, calls, waiting);
    if (is_held) return lock.error();
    if (lock)
      locks.push_back(*std::move(lock));
    else
      warnings.push_back(unlocked_store_warning(folder, lock.error()));
  }
  // Only one process of each machine prints the warnings about folders without locks.
  if (options.member.local_rank == 0) std::ranges::for_each(warnings, say);
  return locks;
}

}  // namespace ratoon::session
