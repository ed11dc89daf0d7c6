// HistoryFile: the file to which rank 0 writes the history of an attempt, such as losses and times of saves.
// append() keeps rows in memory and only flush() writes them, so no training step waits for the disk. Rows
// that cannot be written stay in memory for the next flush(), up to a limit. An error in the history never
// ends a run.
//
//   auto file = HistoryFile::begin(disk, attempt, place_in_the_manifest);
//   file->append({.kind = "step", .step = 12, .at = clock.wall_now(), .values = {{"loss", 0.25}}});
//   file->flush();                          // every second or so
//   manifest.history = file->sync();        // before the commit
//
// Thread contract: only one thread at a time may use a HistoryFile.
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

  // Creates a new history file for the attempt. `after` is the history position in the manifest of the
  // checkpoint from which the attempt resumes. `disk` must outlive the returned HistoryFile.
  [[nodiscard]] static Result<HistoryFile> begin(checkpoint::Disk& disk, Attempt attempt,
                                                 const std::optional<HistoryPosition>& after);

  void append(const Row& row);
  [[nodiscard]] Result<void> flush();
  // Returns the position up to which flush() has written the file. Only sync() makes the written bytes
  // durable.
  [[nodiscard]] HistoryPosition written() const { return {.attempt = attempt_, .bytes = written_bytes_}; }
  // Flushes and syncs the file. Returns the position up to which all rows survive a power cut. After a failed
  // sync() every later call returns the same error, because it is unknown which bytes were lost.
  [[nodiscard]] Result<HistoryPosition> sync();

  // Returns the result of the last successful sync(), or nullopt before the first successful sync().
  [[nodiscard]] const std::optional<HistoryPosition>& durable() const { return durable_position_; }
  [[nodiscard]] std::uint64_t rows_lost() const { return rows_lost_; }

 private:
  HistoryFile(checkpoint::Disk& disk, Attempt attempt, std::unique_ptr<checkpoint::WriteFile> file)
      : disk_(&disk), attempt_(attempt), file_(std::move(file)) {}

  checkpoint::Disk* disk_;
  Attempt attempt_;
  std::unique_ptr<checkpoint::WriteFile> file_;
  std::string pending_text_;         // not written yet
  std::uint64_t written_bytes_ = 0;  // the size of the file
  std::optional<HistoryPosition> durable_position_;
  std::optional<Error> final_error_;  // the failed sync() after which nothing is written
  std::uint64_t rows_lost_ = 0;
};

// Returns the attempts that left a history file.
[[nodiscard]] Result<std::vector<Attempt>> list_attempts(const checkpoint::Disk& disk);
// Returns true if, according to the first line of its history file, at least one attempt resumed from a
// checkpoint. Ignores history files that cannot be read.
[[nodiscard]] bool resumed_from_checkpoint(const checkpoint::Disk& disk);
[[nodiscard]] Result<std::string> read_file(const checkpoint::Disk& disk, Attempt attempt);

}  // namespace ratoon::history
