#include "agent/src/session/rendezvous/rendezvous_folder.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ratoon/atomic_file.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/session/locations/held_lock.h"
#include "base/contract/codec.h"
#include "base/contract/limits.h"
#include "base/core/durable_folder.h"
#include "base/core/read_file.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

namespace fs = std::filesystem;

// Answers and lock files are private, because answers contain the attempt's secret, and a user with access to
// a lock could keep a rank from starting.
constexpr unsigned kPrivateMode = 0600;

std::string rank_file_stem(std::uint32_t rank) {
  std::array<char, 16> name{};
  std::snprintf(name.data(), name.size(), "r%04u", rank);
  return name.data();
}

// Returns the rank in a file name such as "r0003.json"; nothing if the file is not a call file.
std::optional<std::uint32_t> rank_of_call(std::string_view name) {
  constexpr std::string_view kSuffix = ".json";
  if (!name.starts_with('r') || !name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view digits = name.substr(1, name.size() - 1 - kSuffix.size());
  std::uint32_t rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return rank;
}

// Returns the name of the folder for a launch's name. Launches with different names must have different
// folders, so that their ranks do not join each other. If characters of the launch's name had to be left out,
// a digest of the whole name is appended.
std::string folder_name(const GroupOptions& group) {
  constexpr std::size_t kBytesMax = 128;
  std::string name;
  for (const char c : group.name.substr(0, kBytesMax)) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    name += is_plain ? c : '_';
  }
  if (name != group.name) name += "-" + to_hex(xxh3_128(std::as_bytes(std::span(group.name))));
  return name + "-of-" + std::to_string(group.size);
}

// The lock file of a rank has two byte locks. A process holds kIsHeldLockByte while it runs, and also
// kHasCalledLockByte when it has written its call file. The call file of an ended process remains, so only
// the second lock shows that a call file is of the running process.
constexpr off_t kIsHeldLockByte = 0;
constexpr off_t kHasCalledLockByte = 1;

struct flock make_byte_lock(off_t fact) {
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = fact;
  range.l_len = 1;
  return range;
}

Result<FdClosedOnFork> take_lock(const fs::path& path, std::uint32_t rank) {
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivateMode));
  if (!lock.is_open()) return system_error(errno, "opening " + path.string());
  static_cast<void>(::fchmod(lock.get(), kPrivateMode));  // an older version made it readable for others
  auto range = make_byte_lock(kIsHeldLockByte);
  if (::fcntl(lock.get(), F_OFD_SETLK, &range) == 0) {
    write_holder(lock.get());
    return FdClosedOnFork(std::move(lock));
  }
  if (errno != EAGAIN && errno != EACCES) return system_error(errno, "locking " + path.string());
  return held_lock_error(lock.get(), "another process is rank " + std::to_string(rank) + " in " +
                                         path.parent_path().parent_path().string());
}

// Reads a file; nullopt if the file does not exist.
Result<std::optional<std::string>> read_existing_file(const fs::path& path) {
  auto text = read_file(path);
  if (text) return std::optional(*std::move(text));
  if (text.error().kind() == ErrorKind::kNotFound) return std::optional<std::string>();
  return text.error();
}

// Reads a message from a file; returns nullopt if the file does not exist or is not a valid message.
template <class T>
Result<std::optional<T>> read_message(const fs::path& path) {
  const auto text = read_existing_file(path);
  if (!text) return text.error();
  if (!*text) return std::optional<T>();
  auto message = decode<T>(**text);
  return message ? std::optional<T>(*std::move(message)) : std::nullopt;
}

Result<std::optional<std::string>> read_reason(const fs::path& path) {
  const auto orders = read_message<Orders>(path);
  if (!orders) return orders.error();
  return *orders ? std::optional((*orders)->reason) : std::nullopt;
}

// Shortens the reason to the maximum length that readers accept. The reason is not cut within a UTF-8
// character.
Orders make_reason_message(std::string why) {
  if (why.size() > contract::kMessageTextBytesMax) {
    std::size_t end = contract::kMessageTextBytesMax;
    while (end > 0 && (static_cast<unsigned char>(why[end]) & 0xC0U) == 0x80U) --end;
    why.resize(end);
  }
  return {.reason = std::move(why)};
}

Result<bool> does_file_exist(const fs::path& path) {
  std::error_code code;
  const bool exists = fs::exists(path, code);
  if (code) return system_error(code.value(), "looking for " + path.string());
  return exists;
}

}  // namespace

Result<RendezvousFolder> RendezvousFolder::open(const fs::path& run_folder, const GroupOptions& group) {
  const fs::path root = run_folder / checkpoint::kRendezvousFolder;
  const fs::path folder = root / folder_name(group);
  if (auto created = create_folders(folder); !created) return created.error();
  auto lock = take_lock(root / (rank_file_stem(group.rank) + ".lock"), group.rank);
  if (!lock) return lock.error();
  std::error_code code;
  fs::remove(folder / (rank_file_stem(group.rank) + ".json"),
             code);  // the call of an earlier start is invalid
  return RendezvousFolder(root, folder, group, *std::move(lock));
}

RendezvousFolder RendezvousFolder::open_without_lock(const fs::path& run_folder, const GroupOptions& group) {
  const fs::path root = run_folder / checkpoint::kRendezvousFolder;
  return {root, root / folder_name(group), group, FdClosedOnFork()};
}

// In the folder of this launch, remove_former_launches() keeps the call files of running processes and the
// answers to these files. A running process may still be in an attempt with an earlier rank 0.
void RendezvousFolder::remove_former_launches() const {
  std::error_code code;
  for (fs::directory_iterator at(root_, code), end; !code && at != end; at.increment(code)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && at->path() != folder_ && !may_have_call_of_running_process(at->path()))
      fs::remove_all(at->path(), ignored);
  }
  std::set<std::string> kept;
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    kept.insert(rank_file_stem(rank) + ".json");
    const auto call = find_call(rank);
    if (!call) return;  // nothing is removed that a living rank may need
    if (*call) kept.insert("a" + (*call)->process.start + ".yes");
  }
  for (fs::directory_iterator at(folder_, code), end; !code && at != end; at.increment(code)) {
    std::error_code ignored;
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') && !kept.contains(name)) fs::remove(at->path(), ignored);
  }
}

// Returns whether the folder of another launch may have the call file of a running process. Such a call file
// must stay: rank 0 of the other launch needs the call file to inform the process that the other launch is
// refused.
bool RendezvousFolder::may_have_call_of_running_process(const fs::path& group) const {
  std::error_code code;
  for (fs::directory_iterator at(group, code), end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    const auto rank = rank_of_call(name);
    if (!rank) continue;
    const auto lives = is_lock_held(*rank, kIsHeldLockByte);
    const auto is_here = does_file_exist(folder_ / name);
    if (!lives || !is_here || (*lives && !*is_here)) return true;
  }
  return false;
}

Result<void> RendezvousFolder::call(const JoinRequest& request) const {
  auto saved = save_file_atomically(folder_ / (rank_file_stem(rank_) + ".json"), encode(request));
  if (!saved) return saved;
  auto range = make_byte_lock(kHasCalledLockByte);
  if (::fcntl(lock_.get(), F_OFD_SETLK, &range) != 0)
    return system_error(errno, "locking " + (root_ / (rank_file_stem(rank_) + ".lock")).string());
  return saved;
}

Result<std::optional<JoinRequest>> RendezvousFolder::find_call(std::uint32_t rank) const {
  const auto has_called = is_lock_held(rank, kHasCalledLockByte);
  if (!has_called) return has_called.error();
  if (!*has_called) return std::optional<JoinRequest>();
  return read_message<JoinRequest>(folder_ / (rank_file_stem(rank) + ".json"));
}

Result<bool> RendezvousFolder::is_lock_held(std::uint32_t rank, off_t fact) const {
  const fs::path path = root_ / (rank_file_stem(rank) + ".lock");
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const int number = errno;
  if (!file.is_open() && number == ENOENT) return false;
  if (!file.is_open()) return system_error(number, "opening " + path.string());
  auto range = make_byte_lock(fact);
  if (::fcntl(file.get(), F_OFD_GETLK, &range) != 0)
    return system_error(errno, "checking the lock on " + path.string());
  return range.l_type != F_UNLCK;
}

Result<void> RendezvousFolder::answer(const std::string& call, const Answer& answer) const {
  return save_file_atomically(folder_ / ("a" + call + ".yes"),
                              answer.first_call + "\n" + encode(answer.assignment), {.mode = kPrivateMode});
}

Result<std::optional<RendezvousFolder::Answer>> RendezvousFolder::find_answer(const std::string& call) const {
  const fs::path path = folder_ / ("a" + call + ".yes");
  const auto text = read_existing_file(path);
  if (!text && text.error().kind() == ErrorKind::kPermissionDenied) {
    return Error(ErrorKind::kInvalid, text.error().message() +
                                          ": this file contains the secret of the attempt, and only the user "
                                          "of rank 0 can read it; run all ranks as the same user");
  }
  if (!text) return text.error();
  if (!*text) return std::optional<Answer>();
  const std::size_t line = (*text)->find('\n');
  if (line == std::string::npos) return std::optional<Answer>();
  auto assignment = decode<Assignment>(std::string_view(**text).substr(line + 1));
  if (!assignment) return std::optional<Answer>();
  return std::optional(Answer{.assignment = *std::move(assignment), .first_call = (*text)->substr(0, line)});
}

Result<bool> RendezvousFolder::is_answered(const std::string& call) const {
  return does_file_exist(folder_ / ("a" + call + ".yes"));
}

Result<void> RendezvousFolder::refuse(const std::string& call, const std::string& why) const {
  return save_file_atomically(folder_ / ("a" + call + ".no"), encode(make_reason_message(why)));
}

Result<std::optional<std::string>> RendezvousFolder::find_refusal(const std::string& call) const {
  return read_reason(folder_ / ("a" + call + ".no"));
}

Result<void> RendezvousFolder::end_before_call(const std::string& first_call, const std::string& why) const {
  return save_file_atomically(folder_ / ("a" + first_call + "." + rank_file_stem(rank_) + ".no"),
                              encode(make_reason_message(why)));
}

Result<std::optional<std::string>> RendezvousFolder::find_end_before_call(const std::string& first_call,
                                                                          std::uint32_t rank) const {
  return read_reason(folder_ / ("a" + first_call + "." + rank_file_stem(rank) + ".no"));
}

Result<void> RendezvousFolder::end_attempt(Attempt attempt, const std::string& why) const {
  Orders orders = make_reason_message(why);
  orders.attempt = attempt.next();
  return save_file_atomically(folder_ / "over.json", encode(orders));
}

Result<std::optional<std::string>> RendezvousFolder::find_end(Attempt attempt) const {
  const auto orders = read_message<Orders>(folder_ / "over.json");
  if (!orders) return orders.error();
  return *orders && (*orders)->attempt > attempt ? std::optional((*orders)->reason) : std::nullopt;
}

void RendezvousFolder::forget(const std::string& call) const {
  std::error_code ignored;
  fs::remove(folder_ / ("a" + call + ".yes"), ignored);
  fs::remove(folder_ / ("a" + call + ".done"), ignored);
  fs::remove(folder_ / ("a" + call + ".no"), ignored);
}

Result<std::optional<bool>> RendezvousFolder::is_rank_of_another_launch() const {
  const auto has_called = is_lock_held(rank_, kHasCalledLockByte);
  if (!has_called) return has_called.error();
  if (!*has_called) return std::optional<bool>();
  const auto is_here = does_file_exist(folder_ / (rank_file_stem(rank_) + ".json"));
  if (!is_here) return is_here.error();
  return std::optional(!*is_here);
}

Result<void> RendezvousFolder::note_done(const std::string& call) const {
  return save_file_atomically(folder_ / ("a" + call + ".done"), std::string_view());
}

Result<bool> RendezvousFolder::is_done(const std::string& call) const {
  return does_file_exist(folder_ / ("a" + call + ".done"));
}

}  // namespace ratoon::session
