#include "agent/src/session/locations/held_lock.h"

#include <array>
#include <cerrno>
#include <string_view>

#include <unistd.h>

#include "base/core/boot_id.h"

namespace ratoon::session {
namespace {

constexpr std::size_t kLockFileBytesMax = 256;

std::string holder_text(const std::string& boot_id) {
  return "taken on the machine with boot_id " + boot_id + "\n";
}

std::string own_boot_id() {
  const auto boot_id = read_boot_id();
  return boot_id ? *boot_id : std::string();
}

// Returns the beginning of the lock file's text, or an empty text if the file cannot be read.
std::string read_lock_file(int fd) {
  std::array<char, kLockFileBytesMax> text{};
  const auto bytes = ::pread(fd, text.data(), text.size(), 0);
  return bytes > 0 ? std::string(text.data(), static_cast<std::size_t>(bytes)) : std::string();
}

}  // namespace

LockVerdict judge_held_lock(bool is_on_this_machine, Duration waited, const LockTimeouts& patience,
                            const HolderActivity& life) {
  if (is_on_this_machine) return waited < patience.leaving ? LockVerdict::kWait : LockVerdict::kIsInUse;
  if (waited < patience.lease) return LockVerdict::kWait;
  const bool is_alive = life.first_sign && *life.first_sign != life.now;
  return is_alive ? LockVerdict::kIsInUse : LockVerdict::kHolderMayBeGone;
}

void write_holder(int fd, const std::string& boot_id) {
  const std::string text = holder_text(boot_id);
  if (boot_id.empty() || read_lock_file(fd) == text) return;
  // First truncate the file, because a partly overwritten text could name another machine.
  if (::ftruncate(fd, 0) != 0) return;
  if (::pwrite(fd, text.data(), text.size(), 0) < 0) return;
  // Sync the lock file, because other machines must be able to read its text from the file server.
  static_cast<void>(::fdatasync(fd));
}

bool was_taken_here(int fd, const std::string& boot_id) {
  return !boot_id.empty() && read_lock_file(fd) == holder_text(boot_id);
}

void write_holder(int fd) {
  write_holder(fd, own_boot_id());
}

bool was_taken_here(int fd) {
  return was_taken_here(fd, own_boot_id());
}

Error held_lock_error(int fd, const std::string& what) {
  return {was_taken_here(fd) ? ErrorKind::kAlreadyExists : ErrorKind::kConflict,
          what + ": wait for it, end it, or use another --run-name"};
}

Error lock_holder_lost_error(const Error& held, Duration waited) {
  return {
      ErrorKind::kUnavailable,
      held.message() +
          ". The process that holds the lock is on another machine, which has shown no sign of life for " +
          std::to_string(waited / std::chrono::seconds(1)) +
          " s: if that machine has failed, start again once the file server has freed its lock"};
}

}  // namespace ratoon::session
