#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ratoon/session/append_file.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/session/engine/engine.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/durable_folder.h"
#include "base/core/unique_fd.h"

namespace ratoon {

using session::fail;

namespace {

Result<std::uint64_t> size_of(const UniqueFd& file) {
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return system_error(errno, "reading the length");
  return static_cast<std::uint64_t>(facts.st_size);
}

Result<void> write_all(const UniqueFd& file, std::string_view text) {
  const auto before = size_of(file);
  if (!before) return before.error();
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Error refused = system_error(errno, "writing");
      static_cast<void>(::ftruncate(file.get(), static_cast<off_t>(*before)));  // leaves no part of a row
      return refused;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// Renames the file of an earlier start to NAME.old, or to NAME.old.1, NAME.old.2 and so on if these names are
// taken. The old file is kept, because the checkpoints that belong to it may still be in the folder aside/.
Result<void> move_old_file_away(const std::filesystem::path& path) {
  std::error_code code;
  if (std::filesystem::file_size(path, code) == 0 || code) return {};
  std::filesystem::path old = path.string() + ".old";
  for (std::uint64_t number = 1; std::filesystem::exists(std::filesystem::symlink_status(old, code));
       ++number)
    old = path.string() + ".old." + std::to_string(number);
  std::filesystem::rename(path, old, code);
  return code ? system_error(code.value(), "moving the older file away") : Result<void>();
}

Result<std::shared_ptr<UniqueFd>> open_for_append(const std::filesystem::path& path, bool is_anew) {
  if (auto created = create_folders(path.parent_path()); !created) return created.error();
  if (is_anew) {
    if (auto begun = move_old_file_away(path); !begun) return begun.error();
  }
  auto file =
      std::make_shared<UniqueFd>(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!file->is_open()) return system_error(errno, "opening");
  if (auto synced = sync_folder(path.parent_path()); !synced) return synced.error();
  return file;
}

}  // namespace

// AppendFile::File: the file, which only rank 0 opens. Its disk calls have the timeout of --disk-timeout.
class AppendFile::File {
 public:
  File(std::filesystem::path path, bool is_anew, std::shared_ptr<checkpoint::CallsWithTimeout> calls)
      : path_(std::move(path)), calls_(std::move(calls)) {
    file_ = expect(call([path = path_, is_anew] { return open_for_append(path, is_anew); }));
  }

  void write(std::string_view text) {
    expect(call([file = file_, text = std::string(text)] { return write_all(*file, text); }));
  }

  // Training continues if the sync fails, as it does if a checkpoint cannot be saved.
  std::uint64_t sync() const {
    const auto synced = call([file = file_]() -> Result<std::uint64_t> {
      if (::fdatasync(file->get()) != 0 && errno != EINVAL) return system_error(errno, "syncing");
      return size_of(*file);
    });
    if (synced) return *synced;
    session::say(path_.string() + ": " + synced.error().message());
    return expect(call([file = file_] { return size_of(*file); }));
  }

  void cut_back(std::uint64_t bytes) const {
    const std::uint64_t size = expect(call([file = file_] { return size_of(*file); }));
    if (bytes > size) {
      return session::say(path_.string() + " has " + std::to_string(size) + " bytes, and had " +
                          std::to_string(bytes) + " at this checkpoint: rows of this file are lost");
    }
    expect(call([file = file_, bytes]() -> Result<void> {
      if (::ftruncate(file->get(), static_cast<off_t>(bytes)) != 0)
        return system_error(errno, "cutting back");
      return {};
    }));
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> call(Call make) const {
    return (*calls_)(path_.string(), std::move(make));
  }
  template <class T>
  T expect(Result<T> result) const {
    if (!result) fail(ExitCode::kStorage, path_.string() + ": " + result.error().message());
    if constexpr (!std::is_void_v<T>) return *std::move(result);
  }

  const std::filesystem::path path_;
  const std::shared_ptr<checkpoint::CallsWithTimeout> calls_;
  std::shared_ptr<UniqueFd> file_;
};

AppendFile::AppendFile(const Session& session, const std::string& name) : session_(session) {
  const std::filesystem::path path(name);
  if (name.empty() || path.filename() != path || name == "." || name == "..")
    session.refuse_call("AppendFile: '" + name + "' is not the name of a file in the run's folder");
  const std::string folder = session.folder();
  if (folder.empty()) {
    session.refuse_call(
        "AppendFile: '" + name +
        "' needs a folder of the run, and this run saves only to a store: set --save-folder to a folder");
  }
  if (session.rank() != 0) return;
  session.answer([&] {
    file_ = std::make_unique<File>(std::filesystem::path(folder) / checkpoint::kFilesFolder / name,
                                   session.resumes_at() == 0, session.engine_->calls());
  });
}

AppendFile::~AppendFile() = default;

void AppendFile::write(std::string_view text) {
  session_.answer([&] {
    session_.check();
    if (file_) file_->write(text);
  });
}

// A checkpoint before the first step contains the length 0 instead of the file's length. Each start of the
// run writes again the rows that the program appends before it calls Session::steps().
std::string AppendFile::save_state() const {
  const bool is_begun = session_.steps_done() > 0;
  return std::to_string(file_ && is_begun ? file_->sync() : 0);
}

void AppendFile::load_state(std::string_view state) {
  std::uint64_t bytes = 0;
  const auto read = std::from_chars(state.data(), state.data() + state.size(), bytes);
  if (read.ec != std::errc() || read.ptr != state.data() + state.size())
    throw std::invalid_argument("the saved state is not the length of a file");
  // Ignore a state from --load-from, because it has the length of another run's file.
  if (file_ && session_.resumes_at() > 0) file_->cut_back(bytes);
}

}  // namespace ratoon
