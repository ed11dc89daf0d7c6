#include "agent/src/session/telemetry/history_writer.h"

#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

namespace ratoon::session {
namespace {

constexpr auto kFlushEvery = std::chrono::seconds(1);

}  // namespace

void HistoryWriter::append(const history::Row& row) {
  {
    const MutexLock lock(rows_mutex_);
    rows_.push_back(row);
  }
  if (!flush_thread_.joinable()) start_flushing();
}

// If the writer's thread cannot be started, the next save writes the rows, and the next append() tries again
// to start the thread.
void HistoryWriter::start_flushing() {
  try {
    flush_thread_ = std::jthread([this](const std::stop_token& stop) { flush_until_stopped(stop); });
  } catch (const std::system_error&) {
    return;
  }
}

void HistoryWriter::move_rows() {
  std::vector<history::Row> rows;
  {
    const MutexLock lock(rows_mutex_);
    rows.swap(rows_);
  }
  if (!file_ && !is_given_up_ && !rows.empty()) {
    auto file = history::HistoryFile::begin(*disk_, attempt_, previous_end_);
    is_given_up_ = !file;
    if (file)
      file_.emplace(*std::move(file));
    else
      note_error(file.error());
  }
  if (!file_) return;
  for (const auto& row : rows) file_->append(row);
}

std::optional<history::HistoryPosition> HistoryWriter::end_position() {
  const MutexLock lock(mutex_);
  move_rows();
  if (!file_) return previous_end_;
  if (auto flushed = file_->flush(); !flushed) {
    note_error(flushed.error());
    return file_->durable() ? file_->durable() : previous_end_;
  }
  return file_->written();
}

void HistoryWriter::sync() {
  const MutexLock lock(mutex_);
  if (!file_) return;
  if (auto synced = file_->sync(); !synced) note_error(synced.error());
}

void HistoryWriter::end() {
  const MutexLock lock(mutex_);
  sample_row_ = nullptr;
  move_rows();
  if (!file_) return;
  if (auto flushed = file_->flush(); !flushed) note_error(flushed.error());
}

std::string HistoryWriter::take_event() {
  const MutexLock lock(rows_mutex_);
  return std::exchange(new_error_text_, "");
}

void HistoryWriter::note_error(const Error& why) {
  if (std::exchange(has_failed_, true)) return;
  const MutexLock lock(rows_mutex_);
  new_error_text_ = "the history on the disk lacks rows from this step on: " + why.message();
}

void HistoryWriter::flush_until_stopped(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  do {
    stopped_.wait_for(lock, stop, kFlushEvery, [] { return false; });
    try {
      flush_once();
    } catch (const std::exception& error) {
      // Catch all exceptions, because an exception that leaves this thread would end the process.
      note_error({ErrorKind::kUnavailable, error.what()});
    }
  } while (!stop.stop_requested());
}

void HistoryWriter::flush_once() {
  if (auto row = sample_row_ ? sample_row_() : std::nullopt) {
    const MutexLock rows_lock(rows_mutex_);
    rows_.push_back(*std::move(row));
  }
  move_rows();
  if (!file_) return;
  if (auto flushed = file_->flush(); !flushed) note_error(flushed.error());
}

}  // namespace ratoon::session
