#include <cerrno>
#include <charconv>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ratoon/session/append_file.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/unique_fd.h"

namespace ratoon {

using session::fail;

class AppendFile::File {
 public:
  File(std::filesystem::path path, bool is_anew) : path_(std::move(path)) {
    if (is_anew) move_away();
    file_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
    struct stat facts{};
    if (!file_.is_open() || ::fstat(file_.get(), &facts) != 0) refuse("opening");
    bytes_ = static_cast<std::uint64_t>(facts.st_size);
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_.get(), text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse("writing to");
      text.remove_prefix(static_cast<std::size_t>(written));
      bytes_ += static_cast<std::uint64_t>(written);
    }
  }

  // A file that cannot be synced now keeps training going, as a checkpoint that cannot be saved does.
  std::uint64_t sync() {
    if (::fdatasync(file_.get()) != 0 && errno != EINVAL)
      session::say(system_error(errno, "syncing " + path_.string()).message());
    return bytes_;
  }

  void cut_back(std::uint64_t bytes) {
    if (bytes > bytes_) {
      session::say(path_.string() + " has " + std::to_string(bytes_) + " bytes, and had " +
                   std::to_string(bytes) + " at this checkpoint: rows of it are lost");
      return;
    }
    if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) refuse("cutting back");
    bytes_ = bytes;
  }

 private:
  void move_away() const {
    std::error_code code;
    if (std::filesystem::file_size(path_, code) == 0 || code) return;
    std::filesystem::rename(path_, path_.string() + ".old", code);
    if (code) fail(ExitCode::kStorage, system_error(code.value(), "moving " + path_.string()).message());
  }
  [[noreturn]] void refuse(const std::string& doing) const {
    fail(ExitCode::kStorage, system_error(errno, doing + " " + path_.string()).message());
  }

  const std::filesystem::path path_;
  UniqueFd file_;
  std::uint64_t bytes_ = 0;
};

AppendFile::AppendFile(const Session& session, const std::string& name) {
  const std::filesystem::path path(name);
  if (name.empty() || path.filename() != path || name == "." || name == "..")
    fail(ExitCode::kConfiguration,
         "AppendFile: '" + name + "' is not the name of a file in the run's folder");
  const std::string folder = session.folder();
  if (folder.empty()) {
    fail(ExitCode::kConfiguration,
         "AppendFile: '" + name +
             "' needs a folder of the run, and this run is kept in a store alone: set "
             "--save-folder to a folder");
  }
  if (session.rank() != 0) return;
  const std::filesystem::path files = std::filesystem::path(folder) / checkpoint::kFiles;
  std::error_code code;
  std::filesystem::create_directories(files, code);
  if (code) fail(ExitCode::kStorage, system_error(code.value(), "making " + files.string()).message());
  file_ = std::make_unique<File>(files / name, session.resumes_at() == 0);
}

AppendFile::~AppendFile() = default;

void AppendFile::write(std::string_view text) {
  if (file_) file_->write(text);
}

std::string AppendFile::save_state() const {
  return std::to_string(file_ ? file_->sync() : 0);
}

void AppendFile::load_state(std::string_view state) {
  std::uint64_t bytes = 0;
  const auto read = std::from_chars(state.data(), state.data() + state.size(), bytes);
  if (read.ec != std::errc() || read.ptr != state.data() + state.size())
    throw std::invalid_argument("it is not the length of a file");
  if (file_) file_->cut_back(bytes);
}

}  // namespace ratoon
