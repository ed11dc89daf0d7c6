// FileState: tracks a state that a library writes to a file and reads back from a file.
//
//   ratoon::FileState trainer({.save = [&](const std::string& path) { library.save(path); },
//                              .load = [&](const std::string& path) { library.load(path); }});
//   session.track("trainer", trainer);
//
// Each save calls `save` with the path of a new file in a temporary folder, and copies the file into the
// checkpoint. Ratoon verifies the bytes of the file and copies them to stores, like the bytes of tensors.
// When the state is restored, `load` gets the path of a file with the same bytes. The temporary folder is
// removed after each call. A file of 1 MiB or more is saved in parts (TrackedAs::is_saved_in_parts): a save
// writes only the parts that have changed.
//
// The bytes of the file are in memory during the save, and the training thread waits for `save`.
#pragma once

#include <functional>
#include <string>

#include <ratoon/state.h>

namespace ratoon {

struct FileStateFunctions {
  std::function<void(const std::string& path)> save{};  // writes the whole state to a new file
  std::function<void(const std::string& path)> load{};  // restores the state from the file
  std::string temporary_folder{};  // where the temporary folders are made; empty: the system's folder
};

class FileState {
 public:
  explicit FileState(FileStateFunctions functions) : functions_(std::move(functions)) {}

 private:
  friend struct TrackAdapter<FileState>;
  FileStateFunctions functions_;
};

template <>
struct TrackAdapter<FileState> {
  static void check(FileState& state, const std::string& name);
  static void save(FileState& state, StateWriter& out);
  static void load(FileState& state, StateReader& in);
};

}  // namespace ratoon
