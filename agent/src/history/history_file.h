// The file to which one attempt writes its history; by rank 0 alone. Rows are gathered and written when
// asked: no step waits for a disk. What cannot be written is kept for the next time, up to a bound; a history
// never ends a run.
//
//   auto file = HistoryFile::begin(disk, attempt, place_in_the_manifest);
//   file->append({.kind = "step", .step = 12, .at = clock.wall_now(), .values = {{"loss", 0.25}}});
//   file->flush();                          // every second or so
//   manifest.history = file->sync();        // before the commit
//
// Thread contract: one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/history/line.h"

namespace ratoon::history {

class HistoryFile {
 public:
  static constexpr std::size_t kPendingBytesMax = 4U << 20;
  static constexpr std::uint64_t kFileBytesMax = 1ULL << 40;

  // A new file; `after` is of the manifest from which the attempt resumes. The disk outlives it.
  [[nodiscard]] static Result<HistoryFile> begin(checkpoint::Disk& disk, Attempt attempt,
                                                 const std::optional<Place>& after);

  void append(const Row& row);
  [[nodiscard]] Result<void> flush();
  // What flush() wrote; sync() makes it last.
  [[nodiscard]] Place written() const { return {.attempt = attempt_, .bytes = written_}; }
  // Flushes, and says up to where all of it survives a power cut. After a failed sync the file is given up:
  // it is not known which bytes it lost, and every later call says so.
  [[nodiscard]] Result<Place> sync();

  // What the last sync() said; before the first one, nothing counts.
  [[nodiscard]] const std::optional<Place>& durable() const { return durable_; }
  [[nodiscard]] std::uint64_t rows_lost() const { return rows_lost_; }

 private:
  HistoryFile(checkpoint::Disk& disk, Attempt attempt, std::unique_ptr<checkpoint::WriteFile> file)
      : disk_(&disk), attempt_(attempt), file_(std::move(file)) {}

  checkpoint::Disk* disk_;
  Attempt attempt_;
  std::unique_ptr<checkpoint::WriteFile> file_;
  std::string pending_;        // not written yet
  std::uint64_t written_ = 0;  // bytes of the file
  std::optional<Place> durable_;
  std::optional<Error> given_up_;  // why
  std::uint64_t rows_lost_ = 0;
};

// The attempts that left a file, and the file of one.
[[nodiscard]] Result<std::vector<Attempt>> list_attempts(const checkpoint::Disk& disk);
// Whether one of them went on from a checkpoint, by the first line of its file. A file that cannot be read
// says nothing.
[[nodiscard]] bool went_on_from_a_checkpoint(const checkpoint::Disk& disk);
[[nodiscard]] Result<std::string> read_file(const checkpoint::Disk& disk, Attempt attempt);

}  // namespace ratoon::history
