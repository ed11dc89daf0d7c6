#include "agent/src/history/history_file.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::history {

using checkpoint::Disk;

Result<HistoryFile> HistoryFile::begin(Disk& disk, Attempt attempt,
                                       const std::optional<HistoryPosition>& after) {
  if (auto made =
          checkpoint::make_folders(disk, checkpoint::kHistory, checkpoint::Durability::kSurvivesPowerCuts);
      !made)
    return made.error();
  auto file = disk.create(checkpoint::history_path(attempt));
  if (!file) return file.error();
  HistoryFile history(disk, attempt, std::move(*file));
  history.pending_text_ = encode(FirstLine{.attempt = attempt, .after = after});
  return history;
}

void HistoryFile::append(const Row& row) {
  std::string line = encode(row);
  // A reader refuses a line that is longer than kLineBytesMax, and ignores everything after that line.
  const bool is_too_much =
      line.size() > kLineBytesMax || pending_text_.size() + line.size() > kPendingBytesMax;
  if (is_too_much || final_error_) {
    ++rows_lost_;
    return;
  }
  pending_text_ += line;
}

Result<void> HistoryFile::flush() {
  if (final_error_) return *final_error_;
  if (pending_text_.empty()) return {};
  // A failed write may leave a part of the rows in the file. The next write overwrites this part.
  if (auto wrote = file_->write(written_bytes_, std::as_bytes(std::span(pending_text_))); !wrote)
    return wrote;
  written_bytes_ += pending_text_.size();
  pending_text_.clear();
  return {};
}

Result<HistoryPosition> HistoryFile::sync() {
  if (auto flushed = flush(); !flushed) return flushed.error();
  const HistoryPosition place{.attempt = attempt_, .bytes = written_bytes_};
  if (durable_position_ == place) return place;
  auto synced = file_->sync();
  // The first sync() must also sync the folder, so that the new file's name survives a power cut.
  if (synced && !durable_position_) synced = disk_->sync_folder(checkpoint::kHistory);
  if (!synced) {
    final_error_ = synced.error().with_context("the history of attempt " + std::to_string(attempt_.value()) +
                                               " is no longer written");
    return *final_error_;
  }
  durable_position_ = place;
  return place;
}

Result<std::vector<Attempt>> list_attempts(const Disk& disk) {
  const auto entries = checkpoint::list_if_there(disk, checkpoint::kHistory);
  if (!entries) return entries.error();
  std::vector<Attempt> attempts;
  for (const auto& entry : *entries) {
    const auto attempt = checkpoint::parse_history_name(entry.name);
    if (attempt && !entry.is_folder) attempts.push_back(*attempt);
  }
  return attempts;
}

bool resumed_from_checkpoint(const Disk& disk) {
  constexpr std::uint64_t kFirstLineMax = 4096;
  const auto attempts = list_attempts(disk);
  return attempts && std::ranges::any_of(*attempts, [&](Attempt attempt) {
           const auto file = disk.open(checkpoint::history_path(attempt));
           const auto size = file ? (*file)->size() : Result<std::uint64_t>(file.error());
           std::string text(size ? std::min(*size, kFirstLineMax) : 0, '\0');
           if (!size || !(*file)->read(0, std::as_writable_bytes(std::span(text)))) return false;
           const auto beginning = decode_first_line(std::string_view(text).substr(0, text.find('\n')));
           return beginning && beginning->after;
         });
}

Result<std::string> read_file(const Disk& disk, Attempt attempt) {
  return checkpoint::read_whole_file(disk, checkpoint::history_path(attempt), HistoryFile::kFileBytesMax);
}

}  // namespace ratoon::history
