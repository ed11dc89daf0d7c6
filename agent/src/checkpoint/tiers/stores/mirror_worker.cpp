#include "agent/src/checkpoint/tiers/stores/mirror_worker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/core/threads/pause.h"

namespace ratoon::checkpoint {

bool may_copy_succeed_later(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::kCorrupted:
    case ErrorKind::kNotFound:  // retired meanwhile
    case ErrorKind::kConflict:
    case ErrorKind::kInvalid:
      return false;
    case ErrorKind::kAlreadyExists:
    case ErrorKind::kPermissionDenied:  // credentials may be corrected during training
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled:
    case ErrorKind::kNoSpace:
    case ErrorKind::kIo:
      return true;
  }
  return false;
}

MirrorWorker::MirrorWorker(std::shared_ptr<const Disk> from, std::shared_ptr<objects::ObjectStore> to,
                           MirrorWorkerOptions options)
    : source_disk_(std::move(from)),
      store_(std::move(to)),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

MirrorWorker::~MirrorWorker() = default;

void MirrorWorker::note_committed(const CheckpointId& id) {
  const MutexLock lock(mutex_);
  if (newest_in_store_ && *newest_in_store_ >= id) return;
  if (!next_copy_ || *next_copy_ < id) next_copy_ = id;
  changed_.notify_all();
}

void MirrorWorker::go_back_to(const std::optional<CheckpointId>& id) {
  const MutexLock lock(mutex_);
  next_copy_ = newest_in_store_ >= id ? std::nullopt : id;
  changed_.notify_all();
}

std::optional<CheckpointId> MirrorWorker::durable() const {
  const MutexLock lock(mutex_);
  return newest_in_store_;
}

std::set<CheckpointId> MirrorWorker::being_copied() const {
  const MutexLock lock(mutex_);
  std::set<CheckpointId> ids;
  for (const auto& id : {next_copy_, current_copy_})
    if (id) ids.insert(*id);
  return ids;
}

bool MirrorWorker::wait_for(const CheckpointId& id, Duration at_most) const {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, limit_to_one_year(at_most), [&]() RATOON_REQUIRES(mutex_) {
    return newest_in_store_ && *newest_in_store_ >= id;
  });
}

bool MirrorWorker::wait_for_report(Duration at_most) const {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, limit_to_one_year(at_most),
                           [&]() RATOON_REQUIRES(mutex_) { return !is_reporting_; });
}

void MirrorWorker::record_result(const CheckpointId& id, const Result<MirrorResult>& result) {
  const MutexLock lock(mutex_);
  if (result && (!newest_in_store_ || *newest_in_store_ < id)) newest_in_store_ = id;
  current_copy_.reset();
  is_reporting_ = true;
  const bool is_settled = result || !may_copy_succeed_later(result.error());
  if (is_settled && next_copy_ == id) next_copy_.reset();
  changed_.notify_all();
}

// Catches every exception of the copy: an uncaught exception in this thread would end the process.
Result<MirrorResult> MirrorWorker::copy(const CheckpointId& id, ObjectStoreDisk& to,
                                        const MirrorOptions& mirror) const {
  try {
    return mirror_checkpoint(*source_disk_, id, to, mirror);
  } catch (const std::exception& error) {
    return Error(ErrorKind::kUnavailable, std::string("copying to a store: ") + error.what());
  }
}

void MirrorWorker::report_result(const CheckpointId& id, const Result<MirrorResult>& result,
                                 const std::stop_token& stop) {
  try {
    if (options_.on_result) options_.on_result(id, result, stop);
  } catch (const std::exception& error) {
    report_failure(id, error.what(), stop);
  }
  const MutexLock lock(mutex_);
  is_reporting_ = false;
  changed_.notify_all();
}

void MirrorWorker::report_failure(const CheckpointId& id, const std::string& why,
                                  const std::stop_token& stop) const {
  try {
    options_.on_result(id, Error(ErrorKind::kUnavailable, "the steps after a copy to a store failed: " + why),
                       stop);
  } catch (const std::exception&) {
    // Ignore exceptions of on_result(), because the worker reports the result of the next copy anyway.
  }
}

void MirrorWorker::begin(const std::stop_token& stop) const {
  if (!options_.before_first_copy) return;
  try {
    options_.before_first_copy(stop);
  } catch (const std::exception&) {
    // Ignore exceptions of before_first_copy(), because the MirrorWorker of the next process calls it again.
  }
}

void MirrorWorker::work(const std::stop_token& stop) {
  ObjectStoreDisk to(store_, stop);
  MirrorOptions mirror = options_.mirror;
  mirror.stop = stop;
  begin(stop);
  Duration pause = options_.pause_first;
  while (!stop.stop_requested()) {
    CheckpointId id;
    {
      MutexLock lock(mutex_);
      if (!changed_.wait(lock, stop, [&]() RATOON_REQUIRES(mutex_) { return next_copy_.has_value(); }))
        return;
      id = *next_copy_;
      current_copy_ = id;
    }
    const auto result = copy(id, to, mirror);
    if (stop.stop_requested() && !result) return;
    record_result(id, result);
    report_result(id, result, stop);
    if (result || !may_copy_succeed_later(result.error())) {
      pause = options_.pause_first;
      continue;
    }
    MutexLock lock(mutex_);
    static_cast<void>(changed_.wait_for(lock, stop, pause, [] { return false; }));
    pause = std::min(pause * 2, options_.pause_max);
  }
}

}  // namespace ratoon::checkpoint
