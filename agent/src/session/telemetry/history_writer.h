// HistoryWriter: writes the history of one attempt (rows of values such as the loss) to the disk. The first
// row creates the file. The writer's own thread writes the collected rows each second, and the saver's thread
// syncs them before the commit of a checkpoint. The writer keeps an error until take_event() returns it.
//
// Thread contract: one thread calls append() and take_event(), which never wait for a disk. Any thread may
// call the other functions. The writer's own thread calls the function `sample_row`, an argument of the
// constructor.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/history/history_file.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::session {

class HistoryWriter {
 public:
  // The writer's thread calls a SampleRow each second. A SampleRow returns a history row if a row is due.
  using SampleRow = std::function<std::optional<history::Row>()>;
  HistoryWriter(std::shared_ptr<checkpoint::Disk> disk, Attempt attempt,
                const std::optional<history::HistoryPosition>& after, SampleRow sample_row = {})
      : disk_(std::move(disk)), attempt_(attempt), previous_end_(after), sample_row_(std::move(sample_row)) {}

  void append(const history::Row& row);
  // Writes the collected rows, and returns the position of the history's end, for the checkpoint's manifest.
  // If this attempt has written no row yet, end_position() returns the end of the previous attempts' history.
  [[nodiscard]] std::optional<history::HistoryPosition> end_position();
  // Makes the written rows durable. If the sync fails, take_event() returns the reason.
  void sync();
  // Writes all collected rows, because the next attempt reads them. After end(), the writer's thread no
  // longer calls the SampleRow.
  void end();
  // Returns the message of a new error; empty if there is no new error.
  [[nodiscard]] std::string take_event();

 private:
  // Writes the rows to the file, which is created if there is none.
  void move_rows() RATOON_REQUIRES(mutex_);
  void note_error(const Error& why) RATOON_REQUIRES(mutex_);
  void start_flushing();
  void flush_until_stopped(const std::stop_token& stop);
  void flush_once() RATOON_REQUIRES(mutex_);

  const std::shared_ptr<checkpoint::Disk> disk_;
  const Attempt attempt_;
  const std::optional<history::HistoryPosition> previous_end_;

  Mutex rows_mutex_;
  std::vector<history::Row> rows_ RATOON_GUARDED_BY(rows_mutex_);  // not in the file yet
  std::string new_error_text_ RATOON_GUARDED_BY(rows_mutex_);

  Mutex mutex_;  // locked before rows_mutex_
  StoppableConditionVariable stopped_;
  std::optional<history::HistoryFile> file_ RATOON_GUARDED_BY(mutex_);
  SampleRow sample_row_ RATOON_GUARDED_BY(mutex_);
  bool has_failed_ RATOON_GUARDED_BY(mutex_) = false;   // and it was reported
  bool is_given_up_ RATOON_GUARDED_BY(mutex_) = false;  // there is no file
  std::jthread flush_thread_;  // only append() uses it; last: it uses everything above
};

}  // namespace ratoon::session
