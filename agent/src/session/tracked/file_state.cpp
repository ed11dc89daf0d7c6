#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <ratoon/failure.h>
#include <ratoon/session/file_state.h>

#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

namespace fs = std::filesystem;

// A new folder, which the destructor removes with its files.
class TemporaryStateFolder {
 public:
  explicit TemporaryStateFolder(const std::string& parent) {
    std::error_code code;
    const fs::path in = parent.empty() ? fs::temp_directory_path(code) : fs::path(parent);
    std::string pattern = (in / "ratoon-state-XXXXXX").string();
    if (code || ::mkdtemp(pattern.data()) == nullptr) {
      throw Failure(static_cast<int>(ExitCode::kStorage),
                    "no temporary folder for the state file can be made in " + in.string() + ": " +
                        std::generic_category().message(errno) +
                        "; set FileStateFunctions::temporary_folder to a folder with free space");
    }
    path_ = pattern;
  }
  ~TemporaryStateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryStateFolder(const TemporaryStateFolder&) = delete;
  TemporaryStateFolder& operator=(const TemporaryStateFolder&) = delete;

  [[nodiscard]] std::string file() const { return (path_ / "state").string(); }

 private:
  fs::path path_;
};

}  // namespace

void TrackAdapter<FileState>::check(FileState& state, const std::string& name) {
  if (state.functions_.save && state.functions_.load) return;
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                "tracked '" + name + "' is a FileState without " +
                    (state.functions_.save ? "the function load" : "the function save") +
                    ": give it both functions");
}

void TrackAdapter<FileState>::save(FileState& state, StateWriter& out) {
  const TemporaryStateFolder folder(state.functions_.temporary_folder);
  state.functions_.save(folder.file());
  std::error_code code;
  const auto size = fs::file_size(folder.file(), code);
  const auto fail_to_read = [&](const std::string& why) {
    throw Failure(static_cast<int>(ExitCode::kStorage),
                  "the state file " + folder.file() + " cannot be read: " + why +
                      "; check the disk of its folder, or set FileStateFunctions::temporary_folder");
  };
  if (code && code != std::errc::no_such_file_or_directory) fail_to_read(code.message());
  if (code) {
    out.refuse("the function save wrote no file to the path that it was given (" + folder.file() +
               "): write the whole state to this path before the function returns");
  }
  auto bytes = std::make_shared<std::string>(size, '\0');
  errno = 0;
  std::ifstream in(folder.file(), std::ios::binary);
  if (!in.read(bytes->data(), static_cast<std::streamsize>(size)))
    fail_to_read(errno == 0 ? "it became shorter" : std::generic_category().message(errno));
  TensorView view;
  view.shape = {size};
  view.bytes = std::as_bytes(std::span(*bytes));
  view.is_saved_in_parts = true;
  out.tensor(std::move(view), bytes);
}

void TrackAdapter<FileState>::load(FileState& state, StateReader& in) {
  in.bytes("", [&state](const std::string& bytes) {
    const TemporaryStateFolder folder(state.functions_.temporary_folder);
    std::ofstream out(folder.file(), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) {
      throw Failure(static_cast<int>(ExitCode::kStorage),
                    "the state file " + folder.file() +
                        " cannot be written: free space there, or set FileStateFunctions::temporary_folder");
    }
    state.functions_.load(folder.file());
  });
}

}  // namespace ratoon
