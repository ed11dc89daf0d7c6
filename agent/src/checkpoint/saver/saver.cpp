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
#include "base/core/threads/pause.h"

namespace ratoon::checkpoint {
namespace {

constexpr auto kCommitPollInterval = std::chrono::milliseconds(5);

constexpr int kWriterNiceness = 10;

// Lowers the priority of this thread and of the threads that it starts. If training uses every processor, the
// checksums take longer, but the disk is idle only briefly. If the system refuses to lower the priority, the
// thread keeps its old priority.
void lower_thread_priority() {
  const sched_param any{};
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &any));  // and preempts no thread when it wakes
  const auto self = static_cast<id_t>(::syscall(SYS_gettid));
  static_cast<void>(
      ::setpriority(PRIO_PROCESS, self, std::max(kWriterNiceness, ::getpriority(PRIO_PROCESS, self))));
}

void run_pipeline(const std::shared_ptr<SavePipeline>& work) {
  CommitPause pause;
  do {
    while (work->do_work_unit()) pause.reset();
  } while (work->wait_for_work(pause.next()));
  while (work->do_work_unit()) {
  }
}

// If the writer thread throws, records the error, so that threads that wait for the writer get this error.
void run_writer_thread(const std::shared_ptr<SavePipeline>& shared) {
  try {
    lower_thread_priority();
    run_pipeline(shared);
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
    : pipeline_(std::move(shared)), options_(options) {
  if (!options_.has_writer_thread) return;
  std::packaged_task<void()> task([shared = pipeline_] { run_writer_thread(shared); });
  thread_finished_ = task.get_future();
  thread_ = std::thread(std::move(task));
}

Saver::~Saver() {
  if (pipeline_ == nullptr) return;  // moved from
  pipeline_->stop();
  if (!thread_.joinable()) {
    run_pipeline(pipeline_);
    return;
  }
  while (thread_finished_.wait_for(kCommitPollInterval) != std::future_status::ready) {
    if (!pipeline_->is_stuck()) continue;
    was_abandoned_->store(true);
    thread_.detach();
    return;
  }
  thread_.join();
}

SaveProgress Saver::poll() {
  if (!options_.has_writer_thread) {
    while (pipeline_->do_work_unit()) {
    }
  }
  return pipeline_->progress();
}

bool Saver::wait_until_written(Duration at_most) {
  const auto until = std::chrono::steady_clock::now() + limit_to_one_year(at_most);
  for (;;) {
    if (!options_.has_writer_thread) {
      while (pipeline_->do_work_unit()) {
      }
    }
    if (pipeline_->is_written()) return true;
    if (pipeline_->is_stuck() || std::chrono::steady_clock::now() > until) return false;
    pipeline_->wait_for_change(kCommitPollInterval);
  }
}

}  // namespace ratoon::checkpoint
