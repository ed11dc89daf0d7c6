#include "operator/runtime/jobs/event_writer.h"

#include <algorithm>
#include <utility>

#include "base/core/hex.h"

namespace ratoon::runtime {
namespace {

constexpr Duration kEventTimeout = std::chrono::seconds(10);
// If writing an event took long, the next event of its namespace waits this many times as long.
constexpr int kBackoffFactor = 9;
constexpr Duration kSlowWrite = std::chrono::seconds(1);
// The thread looks for namespaces whose retry pause is over at this interval, if no event is emitted
// meanwhile.
constexpr Duration kBackoffCheckInterval = std::chrono::milliseconds(500);

}  // namespace

EventWriter::EventWriter(const ApiClient& client, const Clock& clock, std::string reporter, Logger log)
    : client_(client), clock_(clock), reporter_(std::move(reporter)), log_(std::move(log)) {}

EventWriter::~EventWriter() = default;  // the thread is the last member, so it ends first

void EventWriter::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void EventWriter::step(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (write_next(lock, stop)) {
  }
}

void EventWriter::emit(const api::ObjectMeta& job, kube::EventText text) {
  {
    const MutexLock lock(mutex_);
    queue_.push(job.name_space, {.job = job, .text = std::move(text), .time = clock_.wall_now()});
    ++emitted_count_;
  }
  event_added_.notify_one();
}

void EventWriter::run(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    if (write_next(lock, stop)) continue;
    const auto is_news = [this, seen = emitted_count_]()
                             RATOON_REQUIRES(mutex_) { return emitted_count_ != seen; };
    if (queue_.is_empty())
      event_added_.wait(lock, stop, is_news);
    else
      event_added_.wait_for(lock, stop, kBackoffCheckInterval, is_news);
  }
}

bool EventWriter::write_next(MutexLock& lock, const std::stop_token& stop) {
  const Timestamp began = clock_.now();
  std::erase_if(backoff_ends_, [began](const auto& item) { return item.second <= began; });
  auto next = queue_.take([this](const std::string& name_space)
                              RATOON_REQUIRES(mutex_) { return !backoff_ends_.contains(name_space); });
  if (!next) return false;
  lock.unlock();
  std::optional<Duration> asked;
  const auto done = write(*next, stop, asked);
  const bool is_again = asked && !std::exchange(next->is_repeated, true);
  if (!done && !is_again && !stop.stop_requested())
    log_.warning("an event was not written",
                 {{"job", next->job.name}, {"event", next->text.reason}, {"reason", done.error().message()}});
  const Duration took = clock_.now() - began;
  Duration rest = took >= kSlowWrite ? took * kBackoffFactor : Duration::zero();
  if (asked) rest = std::max(rest, *asked);
  lock.lock();
  const std::string name_space = next->job.name_space;
  if (rest > Duration::zero()) backoff_ends_[name_space] = clock_.now() + rest;
  if (is_again) queue_.push_front(name_space, std::move(*next));
  return true;
}

Result<void> EventWriter::call(const Result<kube::ApiRequest>& request, const std::stop_token& stop,
                               std::optional<Duration>& asked) const {
  if (!request) return request.error();
  std::optional<kube::ApiFailure> refusal;
  const auto reply = client_.call(*request, stop, kEventTimeout, refusal);
  asked = refusal ? refusal->requested_retry_delay() : std::nullopt;
  return reply ? Result<void>() : reply.error();
}

Result<void> EventWriter::write(QueuedEvent& news, const std::stop_token& stop,
                                std::optional<Duration>& asked) {
  if (!news.order) {
    // The names of events contain the time and a number, so that they also differ from names by an earlier
    // start of this program.
    const auto time = static_cast<std::uint64_t>(news.time.since_epoch.count());
    const std::string unused = news.job.name + "." + to_hex(time + next_name_number_++);
    news.order = filter_.event_to_write(news.job.uid, news.text, unused, clock_.now());
  }
  if (!news.order) return {};
  const EventWrite& order = *news.order;
  if (!order.is_new) {
    const kube::ObjectReference known{
        .resource = kube::kCoreEvents, .name_space = news.job.name_space, .name = order.name};
    auto patched = call(
        kube::make_patch_request(known, kube::make_event_repeat_patch(order.note, order.count, news.time)),
        stop, asked);
    if (patched || patched.error().kind() != ErrorKind::kNotFound) return patched;
    // The event has expired or was never written, so create it again under the same name.
  }
  kube::EventText text = news.text;
  text.message = order.note;
  const kube::ObjectReference place{.resource = kube::kEvents, .name_space = news.job.name_space};
  return call(
      kube::create(place, kube::make_event(news.job, text, order.name, reporter_, news.time, order.count)),
      stop, asked);
}

}  // namespace ratoon::runtime
