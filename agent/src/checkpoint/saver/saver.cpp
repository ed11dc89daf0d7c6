#include "agent/src/checkpoint/saver/saver.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/src/checkpoint/saver/commit_pause.h"
#include "base/core/pause.h"

namespace ratoon::checkpoint {
namespace {

constexpr auto kLookForCommit = std::chrono::milliseconds(5);

constexpr int kNiceness = 10;

// Lowers the priority of this thread and of the threads that it starts. With a low priority, the checksums
// wait if training uses every processor, but the disk is idle only briefly. If the system refuses to lower
// the priority, the thread keeps its old priority.
void lower_thread_priority() {
  const sched_param any{};
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &any));  // and preempts no thread when it wakes
  const auto self = static_cast<id_t>(::syscall(SYS_gettid));
  static_cast<void>(
      ::setpriority(PRIO_PROCESS, self, std::max(kNiceness, ::getpriority(PRIO_PROCESS, self))));
}

void work(const std::shared_ptr<SavePipeline>& work) {
  CommitPause pause;
  do {
    while (work->work_once()) pause.reset();
  } while (work->wait_for_work(pause.next()));
  while (work->work_once()) {
  }
}

// If the writer thread throws, records the error, so that threads that wait for the writer get this error.
void work_or_give_up(const std::shared_ptr<SavePipeline>& shared) {
  try {
    lower_thread_priority();
    work(shared);
  } catch (const std::exception& error) {
    shared->give_up(
        {ErrorKind::kUnavailable, std::string("the thread that writes checkpoints failed: ") + error.what()});
  }
}

}  // namespace

Result<Saver> Saver::open(std::shared_ptr<Disk> disk, const std::string& mark,
                          std::shared_ptr<const Clock> clock, const SaverOptions& options) {
  auto work = SavePipeline::open(std::move(disk), mark, std::move(clock), options);
  if (!work) return work.error();
  return Saver(*std::move(work), options);
}

Saver::Saver(std::shared_ptr<SavePipeline> shared, const SaverOptions& options)
    : work_(std::move(shared)), options_(options) {
  if (!options_.has_thread) return;
  std::packaged_task<void()> task([shared = work_] { work_or_give_up(shared); });
  has_ended_ = task.get_future();
  thread_ = std::thread(std::move(task));
}

Saver::~Saver() {
  if (work_ == nullptr) return;  // moved from
  work_->stop();
  if (!thread_.joinable()) {
    work(work_);
    return;
  }
  while (has_ended_.wait_for(kLookForCommit) != std::future_status::ready) {
    if (!work_->is_stuck()) continue;
    was_abandoned_->store(true);
    thread_.detach();
    return;
  }
  thread_.join();
}

SaveProgress Saver::poll() {
  if (!options_.has_thread) {
    while (work_->work_once()) {
    }
  }
  return work_->progress();
}

bool Saver::settle(Duration at_most) {
  const auto until = std::chrono::steady_clock::now() + waitable(at_most);
  for (;;) {
    if (!options_.has_thread) {
      while (work_->work_once()) {
      }
    }
    if (work_->is_written()) return true;
    if (work_->is_stuck() || std::chrono::steady_clock::now() > until) return false;
    work_->wait_for_change(kLookForCommit);
  }
}

}  // namespace ratoon::checkpoint
