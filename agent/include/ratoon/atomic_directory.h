// AtomicDirectory: checkpoints that are directories of files. AtomicDirectory ignores every checkpoint
// directory that is not complete.
//
//   ratoon::AtomicDirectory saver("out", {.keep = 3});
//   if (const auto latest = saver.latest()) load(*latest / "model.pt");
//   for (...) {
//     const auto directory = saver.prepare();         // new and empty: "out/checkpoint_7.unfinished"
//     ratoon::torch::atomic_save(*net, directory / "model.pt");
//     saver.finalize(directory);                      // "out/checkpoint_7", and latest()
//   }
//
// The link "latest" in the folder names the newest finished directory with a relative path. The link is
// replaced atomically, so programs that do not use Ratoon can follow it at any time.
//
// After the process has ended for any reason, latest() returns the directory that was finalized last. If the
// process ends during finalize(), latest() may already return the new directory, which is then complete. The
// folder of an AtomicDirectory can be moved or copied. An unfinished directory is never loaded, and prepare()
// removes it. prepare() never removes a complete directory. To continue from an older directory, first move
// the newer directories away, then set the link "latest" to the older one.
//
// Several ranks can write their files into one checkpoint directory. Each rank creates an AtomicDirectory
// with its rank number and a barrier for all ranks. All ranks call prepare() and finalize() in the same
// order. Only rank 0 creates, renames and removes checkpoint directories. Every rank syncs the directory's
// files that exist on its own machine.
//
//   ratoon::AtomicDirectory saver("out", {.rank = rank, .barrier = [&] { group->barrier()->wait(); }});
//
// AtomicDirectory can continue from directories that the Python package cycling_utils wrote: set the options
// `prefix` and `link` to the names that the version of cycling_utils uses. Ratoon uses only the last
// component of the path in a link, because the folders of this path may differ on this machine. Of the
// following two lines, the second is for the first versions of cycling_utils, and the first is for later
// versions:
//
//   {.prefix = "AtomicDirectory_checkpoint_", .link = "AtomicDirectory.latest_checkpoint"}
//   {.prefix = "CHK", .link = "latest_pt"}   // its first versions
//
// The functions of AtomicDirectory throw ratoon::Failure with these exit codes:
//   82  the link's name is taken by a file, or by a link to a directory without the prefix
//   83  directories exist, but the link is missing or names none of them, and a new run must not start beside
//       them; or prepare() finds directories that are newer than the directory that the link names
//   84  the disk refuses an operation
// Thread contract: only one thread uses the object, and only one run at a time uses the folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ratoon {

struct AtomicDirectoryOptions {
  std::string prefix = "checkpoint_";  // prefix of the directories' names; a number follows
  std::string link = "latest";
  // The number of newest finished directories to keep; 0 keeps all. The newest directory is always kept. A
  // directory whose name ends with "_force" is always kept, too, because cycling_utils marks directories to
  // keep with this suffix.
  std::uint64_t keep = 2;
  std::uint32_t rank = 0;
  std::function<void()> barrier{};  // returns once all ranks have called it; empty: there is one rank
};

class AtomicDirectory {
 public:
  // Creates the folder for checkpoint directories if the folder does not exist.
  explicit AtomicDirectory(std::filesystem::path folder, AtomicDirectoryOptions options = {});

  // Returns the newest finished checkpoint directory, or nothing if there is none.
  [[nodiscard]] std::optional<std::filesystem::path> latest() const;

  // Creates a new, empty directory for the next checkpoint and removes unfinished directories.
  [[nodiscard]] std::filesystem::path prepare() const;

  // Syncs all files in the directory, renames the directory to its final name, sets the link to the directory
  // and removes old directories beyond `keep`. Returns the final path of the checkpoint directory. A rank
  // that cannot sync its files throws before the barrier, so the directory stays unfinished. If rank 0 cannot
  // rename the directory, finalize() throws on every rank after the last barrier.
  std::filesystem::path finalize(const std::filesystem::path& directory) const;

 private:
  struct Entry;
  [[nodiscard]] std::optional<std::string> linked_name() const;
  [[nodiscard]] std::optional<Entry> parse(const std::string& name) const;
  [[nodiscard]] Entry find() const;
  [[nodiscard]] std::vector<Entry> finished() const;      // newest first
  [[nodiscard]] std::set<std::string> cut_short() const;  // directories that interrupted link updates name
  [[nodiscard]] std::string how_to_link(const Entry& found) const;
  [[nodiscard]] std::optional<Entry> find_unlinked(const Entry& linked) const;
  void remove_unfinished(const std::optional<Entry>& unlinked) const;
  void give_name(const std::filesystem::path& directory, const std::string& name) const;
  [[nodiscard]] std::filesystem::path make_link(const std::string& name) const;
  void replace_link(const std::filesystem::path& made) const;
  void remove_old(std::uint64_t newest) const;
  void wait_for_all() const;

  std::filesystem::path folder_;
  AtomicDirectoryOptions options_;
};

}  // namespace ratoon
