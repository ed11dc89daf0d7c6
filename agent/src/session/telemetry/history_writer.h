// HistoryWriter: writes the history of one attempt (rows of values such as the loss) to the disk. The first
// row creates the file. The writer's own thread writes the collected rows each second, and the saver's thread
// syncs them before the commit of a checkpoint. The writer keeps an error until take_event() returns it.
//
// Thread contract: one thread calls append() and take_event(), which never wait for a disk. Any thread may
// call the other functions. The writer's own thread calls the function `sampled`, an argument of the
// constructor.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/history/history_file.h"

namespace ratoon::session {

class HistoryWriter {
 public:
  // The writer's thread calls a SampleRow each second. A SampleRow returns a history row if a row is due.
  using SampleRow = std::function<std::optional<history::Row>()>;
  HistoryWriter(std::shared_ptr<checkpoint::Disk> disk, Attempt attempt,
                const std::optional<history::HistoryPosition>& after, SampleRow sampled = {})
      : disk_(std::move(disk)), attempt_(attempt), after_(after), sample_row_(std::move(sampled)) {}

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
  void move_rows();  // to the file, which is created if there is none
  void note_error(const Error& why);
  void start_flushing();
  void flush_until_stopped(const std::stop_token& stop);
  void flush_once();

  const std::shared_ptr<checkpoint::Disk> disk_;
  const Attempt attempt_;
  const std::optional<history::HistoryPosition> after_;

  std::mutex rows_mutex_;
  std::vector<history::Row> rows_;  // not in the file yet; guarded by rows_mutex_, as is the next
  std::string new_error_text_;

  std::mutex mutex_;  // locked before rows_mutex_
  std::condition_variable_any stopped_;
  std::optional<history::HistoryFile> file_;  // guarded by mutex_, as is what follows
  SampleRow sample_row_;
  bool has_failed_ = false;    // and it was reported
  bool is_given_up_ = false;   // there is no file
  std::jthread flush_thread_;  // last: it uses everything above
};

}  // namespace ratoon::session
