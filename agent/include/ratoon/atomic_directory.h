// AtomicDirectory: checkpoints that are directories of files, each finished or as if it had never been.
//
//   ratoon::AtomicDirectory saver("out", {.keep = 3});
//   if (const auto latest = saver.latest()) load(*latest / "model.pt");
//   for (...) {
//     const auto directory = saver.prepare();         // new and empty: "out/checkpoint_7.unfinished"
//     ratoon::torch::atomic_save(*net, directory / "model.pt");
//     saver.finalize(directory);                      // "out/checkpoint_7", and latest()
//   }
//
// A link in the folder, "latest", names the newest finished directory relatively and is replaced without a
// moment at which there is none: programs that know nothing of Ratoon follow it. Whatever ends the process,
// latest() is the directory that was finalized last or, where finalize() did not return, perhaps the one
// after it, with all its bytes; the folder can be moved or copied. Unfinished directories are never taken;
// prepare() removes them, and nothing that may be whole: who sets the link back, to go on from an older one,
// moves the newer ones away first.
//
// Several ranks write into one directory: each has its own AtomicDirectory with its rank and one barrier for
// all, and calls prepare() and finalize() at the same places. Rank 0 makes, names and removes; every rank
// syncs the files that it finds, on its own machine.
//
//   ratoon::AtomicDirectory saver("out", {.rank = rank, .barrier = [&] { group->barrier()->wait(); }});
//
// What cycling_utils made is read and gone on with under its names; of its links, whose paths may have been
// right on another machine only, the last part counts:
//
//   {.prefix = "AtomicDirectory_checkpoint_", .link = "AtomicDirectory.latest_checkpoint"}
//   {.prefix = "CHK", .link = "latest_pt"}   // its first versions
//
// Thrown is ratoon::Failure: with exit code 84 where the disk refuses, 83 where directories are there and the
// link is lost or names none of them, so that nobody starts over beside them, or where prepare() finds newer
// ones than the link's, 82 where the link's name is
// somebody else's. One thread, and one run at a time in a folder.
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
  std::string prefix = "checkpoint_";  // of the directories; a number follows
  std::string link = "latest";
  // Finished ones, the newest first; 0: all. One is kept always, and so are those whose names end with
  // "_force", which is cycling_utils' word for it.
  std::uint64_t keep = 2;
  std::uint32_t rank = 0;
  std::function<void()> barrier{};  // returns once all ranks have called it; none: there is one rank
};

class AtomicDirectory {
 public:
  // Makes the folder where it is missing.
  explicit AtomicDirectory(std::filesystem::path folder, AtomicDirectoryOptions options = {});

  // The newest finished directory, or nothing.
  [[nodiscard]] std::optional<std::filesystem::path> latest() const;

  // A new and empty directory; what was not finished before is removed.
  [[nodiscard]] std::filesystem::path prepare() const;

  // Syncs all that lies in it, makes it latest() under its own name, which it returns, and removes finished
  // ones that need not be kept. A rank that cannot sync its files throws before the barrier: then no rank
  // finishes the directory. Where rank 0 cannot give it its name, every rank throws after the last barrier.
  std::filesystem::path finalize(const std::filesystem::path& directory) const;

 private:
  struct Found;
  [[nodiscard]] std::optional<std::string> linked_name() const;
  [[nodiscard]] std::optional<Found> parse(const std::string& name) const;
  [[nodiscard]] Found find() const;
  [[nodiscard]] std::vector<Found> finished() const;      // newest first
  [[nodiscard]] std::set<std::string> cut_short() const;  // what links name that did not come to their place
  [[nodiscard]] std::string how_to_link(const Found& found) const;
  [[nodiscard]] std::optional<Found> find_unlinked(const Found& linked) const;
  void remove_unfinished(const std::optional<Found>& unlinked) const;
  void give_name(const std::filesystem::path& directory, const std::string& name) const;
  [[nodiscard]] std::filesystem::path make_link(const std::string& name) const;
  void replace_link(const std::filesystem::path& made) const;
  void remove_old(std::uint64_t newest) const;
  void wait_for_all() const;

  std::filesystem::path folder_;
  AtomicDirectoryOptions options_;
};

}  // namespace ratoon
