// HistoryWriter: writes the history of one attempt to the disk. The file is created with the first row. A
// separate thread writes the gathered rows each second, and the saver's thread syncs them before a commit. An
// error is kept until take_event() has returned it.
//
// Thread contract: one thread calls append() and take_event(), and never waits for a disk; any thread calls
// the other functions. `sampled` is called by the writer's own thread.
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
  // The writer's thread calls `sampled` each second. `sampled` returns a row if a row is due.
  using Sampled = std::function<std::optional<history::Row>()>;
  HistoryWriter(std::shared_ptr<checkpoint::Disk> disk, Attempt attempt,
                const std::optional<history::HistoryPosition>& after, Sampled sampled = {})
      : disk_(std::move(disk)), attempt_(attempt), after_(after), sampled_(std::move(sampled)) {}

  void append(const history::Row& row);
  // Writes the gathered rows, and returns the position of the history's end, for the manifest. If this
  // attempt has no row yet, returns the end of the previous attempts' history.
  [[nodiscard]] std::optional<history::HistoryPosition> place();
  // When sync() returns, the written rows are durable, or take_event() returns the reason why they are not.
  void sync();
  // After end(), `sampled` is not called again, and all gathered rows are in the file, where the next attempt
  // looks for them.
  void end();
  // Returns an error as a sentence, once; empty if there is no error.
  [[nodiscard]] std::string take_event();

 private:
  void move_rows();  // to the file, which is created if there is none
  void note(const Error& why);
  void start_flushing();
  void flush_until_stopped(const std::stop_token& stop);
  void flush_once();

  const std::shared_ptr<checkpoint::Disk> disk_;
  const Attempt attempt_;
  const std::optional<history::HistoryPosition> after_;

  std::mutex rows_mutex_;
  std::vector<history::Row> rows_;  // not in the file yet; guarded by rows_mutex_, as is the next
  std::string event_;

  std::mutex mutex_;  // locked before rows_mutex_
  std::condition_variable_any stopped_;
  std::optional<history::HistoryFile> file_;  // guarded by mutex_, as is what follows
  Sampled sampled_;
  bool has_failed_ = false;   // and it was reported
  bool is_given_up_ = false;  // there is no file
  std::jthread flushing_;     // last: it uses everything above
};

}  // namespace ratoon::session
