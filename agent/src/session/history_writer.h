// HistoryWriter: the history of one attempt on its way to the disk. The file is made with the first row; each
// second what was gathered is written, by a thread of its own, and before a commit it is synced, by the
// saver's. What is wrong is kept for whoever prints it.
//
// Thread contract: append() and take_event() from one thread, which never waits for a disk; the others from
// any. `sampled` is called by the writer's own thread.
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
  // What is asked each second whether there is a row to write.
  using Sampled = std::function<std::optional<history::Row>()>;
  HistoryWriter(std::shared_ptr<checkpoint::Disk> disk, Attempt attempt,
                const std::optional<history::Place>& after, Sampled sampled = {})
      : disk_(std::move(disk)), attempt_(attempt), after_(after), sampled_(std::move(sampled)) {}

  void append(const history::Row& row);
  // Writes what was gathered, and says up to where the history goes: for the manifest. Without a row of this
  // attempt it is where it went on from.
  [[nodiscard]] std::optional<history::Place> place();
  // What was written lasts when this returns, or events() says why not.
  void sync();
  // `sampled` is not called again, and what was gathered is in the file: the next attempt looks for it there.
  void end();
  // A sentence, once; empty: nothing is wrong.
  [[nodiscard]] std::string take_event();

 private:
  void move_rows();  // to the file, which is made where there is none
  void note(const Error& why);
  void start_flushing();
  void flush_until_stopped(const std::stop_token& stop);
  void flush_once();

  const std::shared_ptr<checkpoint::Disk> disk_;
  const Attempt attempt_;
  const std::optional<history::Place> after_;

  std::mutex rows_mutex_;
  std::vector<history::Row> rows_;  // not in the file yet; guarded by rows_mutex_, as is the next
  std::string event_;

  std::mutex mutex_;  // locked before rows_mutex_
  std::condition_variable_any stopped_;
  std::optional<history::HistoryFile> file_;  // guarded by mutex_, as is what follows
  Sampled sampled_;
  bool has_failed_ = false;   // and it was said
  bool is_given_up_ = false;  // there is no file
  std::jthread flushing_;     // last: it uses everything above
};

}  // namespace ratoon::session
