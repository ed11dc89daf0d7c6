#include "operator/local/folder/run_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <span>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ratoon/atomic_file.h>

#include "base/contract/fields.h"
#include "base/core/folder_identity.h"
#include "base/core/folder_inode_hash.h"
#include "base/core/read_file.h"
#include "base/core/xxh3.h"

namespace ratoon::local {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStatusBytesMax = 64 * 1024 * 1024;
constexpr int kStatusDepthMax = 64;
constexpr unsigned kFileMode = 0600;
constexpr const char* kLockFile = "lock";
constexpr const char* kStatusFile = "status.json";
constexpr const char* kLogsFolder = "logs";
constexpr const char* kUidFile = "uid";

// Takes the lock of the folder, and returns 0 or the errno of the failure. Tries several times, because
// is_in_use() in another process takes the lock for a moment, and must not look like another run.
int take_lock(int fd) {
  constexpr int kTries = 20;
  constexpr int kPauseMillis = 10;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK && errno != EINTR) return errno;
    ::poll(nullptr, 0, kPauseMillis);
  }
  return EWOULDBLOCK;
}

Error unreadable_file_error(const std::string& path, const Error& why) {
  return {ErrorKind::kInvalid,
          path + ": " + why.message() +
              ": move it away, and the next `ratoon run` goes on from the newest checkpoint"};
}

// Checks that a rename can move the path's content. A mount point cannot be renamed, and renaming a link does
// not move the link's target.
Result<void> check_movable(const fs::path& path) {
  struct stat above{};
  struct stat there{};
  if (::lstat(path.c_str(), &there) != 0) return {};
  const bool is_moved = S_ISDIR(there.st_mode) && ::stat(path.parent_path().c_str(), &above) == 0 &&
                        above.st_dev == there.st_dev;
  if (is_moved) return {};
  return Error(ErrorKind::kInvalid, path.string() +
                                        " is a link or a mount point and cannot be moved aside: nothing was "
                                        "changed; move its content yourself, or pass another --folder");
}

}  // namespace

Result<RunFolder> RunFolder::open(fs::path folder) {
  std::error_code code;
  fs::create_directories(folder / kLogsFolder, code);
  if (code == std::errc::not_a_directory) {
    return Error(
        ErrorKind::kInvalid,
        folder.string() +
            " cannot be a run's folder: this path, or a part of it, is a file; pass another --folder");
  }
  if (code) return system_error(code.value(), "creating the run's folder " + folder.string());
  folder = fs::absolute(folder);
  const std::string lock_path = (folder / kLockFile).string();
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  if (!lock.is_open()) return system_error(errno, "opening " + lock_path);
  static_cast<void>(::fchmod(lock.get(), kFileMode));  // an older version made it readable for others
  const int refusal = take_lock(lock.get());
  if (refusal != 0 && refusal != EWOULDBLOCK) {
    const Error why = system_error(refusal, "locking " + lock_path);
    return Error(why.kind(), why.message() +
                                 ": the file system of a run's folder must support flock(); "
                                 "enable it, or pass another --folder");
  }
  if (refusal != 0) {
    return Error(ErrorKind::kAlreadyExists,
                 "another `ratoon run` is running in " + folder.string() +
                     ": wait for it, end it with Ctrl-C, or pass another --folder");
  }
  return RunFolder(std::move(folder), std::move(lock));
}

bool RunFolder::is_in_use(const fs::path& folder) {
  const UniqueFd lock(::open((folder / kLockFile).c_str(), O_RDONLY | O_CLOEXEC));
  return lock.is_open() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Result<std::optional<nlohmann::json>> RunFolder::read_document(const fs::path& folder) {
  const std::string path = (folder / kStatusFile).string();
  std::ifstream in(path, std::ios::binary);
  if (!in && errno == ENOENT) return std::optional<nlohmann::json>();
  if (!in) return system_error(errno, "opening " + path);
  std::string text;
  std::array<char, 64 * 1024> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0)
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return system_error(EIO, "reading " + path);
  auto document = parse_json(text, kStatusBytesMax, kStatusDepthMax);
  if (!document) return unreadable_file_error(path, document.error());
  return std::optional(*std::move(document));
}

Result<std::optional<api::TrainingJobStatus>> RunFolder::read_status(const api::TrainingJob& job) const {
  auto read = read_document(folder_);
  if (!read) return read.error();
  if (!*read) return std::optional<api::TrainingJobStatus>();
  nlohmann::json& document = **read;
  auto stored = api::decode_training_job(document.is_object() ? document["job"] : document);
  if (!stored) return unreadable_file_error(status_path().string(), stored.error());
  if (api::key_of(*stored) != api::key_of(job)) {
    return Error(ErrorKind::kInvalid, folder_.string() + " holds a run of job '" + stored->meta.name +
                                          "', not of '" + job.meta.name + "': pass another --folder");
  }
  return std::optional(stored->status);
}

Result<fs::path> RunFolder::archive_old_files(WallTime now,
                                              const std::function<Result<void>()>& store_fresh_status) const {
  if (const auto movable = check_movable(folder_ / "checkpoints"); !movable) return movable.error();
  std::string time = format_rfc3339(now);
  std::ranges::replace(time, ':', '-');  // some file systems refuse ':'
  fs::path before = folder_ / "before" / time;
  std::error_code code;
  for (int i = 2; fs::exists(before, code); ++i)
    before = folder_ / "before" / (time + "-" + std::to_string(i));
  fs::create_directories(before, code);
  if (code) return system_error(code.value(), "creating " + before.string());
  if (fs::exists(status_path(), code)) fs::copy_file(status_path(), before / kStatusFile, code);
  if (code) return system_error(code.value(), "copying " + status_path().string() + " to " + before.string());
  if (auto stored = store_fresh_status(); !stored) return stored.error();
  for (const char* name : {kLogsFolder, "checkpoints", "events.jsonl", "report.html"}) {
    fs::rename(folder_ / name, before / name, code);
    if (code && code != std::errc::no_such_file_or_directory)
      return system_error(code.value(), "moving " + (folder_ / name).string() + " to " + before.string());
  }
  fs::create_directories(folder_ / kLogsFolder, code);
  if (code) return system_error(code.value(), "creating " + (folder_ / kLogsFolder).string());
  return before;
}

Result<void> RunFolder::write_status(const nlohmann::json& document) const {
  return save_file_atomically(status_path(),
                              document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
                              {.mode = kFileMode});
}

Result<void> RunFolder::write_token(const std::string& token) const {
  return save_file_atomically(token_path(), token + "\n", {.mode = kFileMode});
}

Result<std::string> RunFolder::job_uid() const {
  const fs::path path = folder_ / kUidFile;
  const auto text = read_file(path);
  // Return an error if the file with the identity may exist but cannot be read now. If the run drew a new
  // identity in this case, it could not use its own checkpoints.
  const bool is_known =
      text || text.error().kind() == ErrorKind::kNotFound || text.error().kind() == ErrorKind::kInvalid;
  if (!is_known)
    return Error(text.error().kind(), text.error().message() +
                                          ": the identity of the run is unknown while this file cannot be "
                                          "read; start the run again when the file can be read");
  const std::string uid = text ? text->substr(0, text->find('\n')) : "";
  const std::uint64_t mark = folder_inode_hash(folder_);
  if (is_identity(uid) && identity_of_folder(uid, mark) == uid) return uid;
  auto drawn = make_random_identity(mark);
  if (!drawn) return drawn;
  if (auto saved = save_file_atomically(path, *drawn + "\n", {.mode = kFileMode}); !saved)
    return saved.error();
  return drawn;
}

void RunFolder::append_event(const std::string& line) const {
  const UniqueFd file(::open(events_path().c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.is_open()) return;
  // If a full disk accepts only a part of the line, the run removes this part from the file. If a power
  // failure left a partial line, the next write first ends it with a newline.
  const off_t before = ::lseek(file.get(), 0, SEEK_END);
  char last = '\n';
  if (before > 0 && ::pread(file.get(), &last, 1, before - 1) == 1 && last != '\n' &&
      ::write(file.get(), "\n", 1) != 1)
    return;
  const ssize_t written = ::write(file.get(), line.data(), line.size());
  if (written > 0 && static_cast<std::size_t>(written) < line.size() && ::ftruncate(file.get(), before) != 0)
    return;
}

Result<UniqueFd> RunFolder::open_log(const std::string& member) const {
  std::error_code ignored;  // opening the log reports it
  fs::create_directories(folder_ / kLogsFolder, ignored);
  const std::string path = log_path(member).string();
  UniqueFd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.is_open()) return system_error(errno, "opening " + path);
  return log;
}

fs::path RunFolder::log_path(const std::string& member) const {
  return folder_ / kLogsFolder / (member + ".log");
}

std::string run_resource_name(const fs::path& run_folder) {
  const std::string run = fs::absolute(run_folder).lexically_normal().string();
  return "ratoon-run-" + to_hex(xxh3_128(std::as_bytes(std::span(run))));
}

}  // namespace ratoon::local
