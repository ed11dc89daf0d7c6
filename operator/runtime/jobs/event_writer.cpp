#include "operator/runtime/jobs/event_writer.h"

#include "base/core/hex.h"

namespace ratoon::runtime {
namespace {

constexpr std::size_t kQueueMax = 1024;

}  // namespace

EventWriter::EventWriter(const ApiClient& client, const Clock& clock, std::string reporter, Logger log)
    : client_(client), clock_(clock), reporter_(std::move(reporter)), log_(std::move(log)) {}

EventWriter::~EventWriter() = default;  // the thread is the last member, so it ends first

void EventWriter::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void EventWriter::step(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!queue_.empty()) write_first(lock, stop);
}

void EventWriter::emit(const api::ObjectMeta& job, kube::EventText text) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kQueueMax) queue_.pop_front();  // a storm: the newest are the most useful
    queue_.push_back({.job = job, .text = std::move(text), .time = clock_.wall_now()});
  }
  has_news_.notify_one();
}

void EventWriter::run(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!has_news_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
    write_first(lock, stop);
  }
}

void EventWriter::write_first(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  const News news = std::move(queue_.front());
  queue_.pop_front();
  lock.unlock();
  if (const auto done = write(news, stop); !done && !stop.stop_requested())
    log_.warning("an event was not written",
                 {{"job", news.job.name}, {"event", news.text.reason}, {"reason", done.error().message()}});
  lock.lock();
}

Result<void> EventWriter::write(const News& news, const std::stop_token& stop) {
  // The names of events contain the time and a number, so that they also differ from names by an earlier
  // start of this program.
  const auto time = static_cast<std::uint64_t>(news.time.since_epoch.count());
  const std::string unused = news.job.name + "." + to_hex(time + number_++);
  const auto order = filter_.take(news.job.uid, news.text, unused, clock_.now());
  if (!order) return {};
  if (!order->is_new) {
    const kube::ObjectReference known{
        .resource = kube::kCoreEvents, .name_space = news.job.name_space, .name = order->name};
    const auto patched = client_.call(
        kube::merge_patch(known, kube::repeat_event(order->note, order->count, news.time)), stop);
    if (patched) return {};
    if (patched.error().kind() != ErrorKind::kNotFound) return patched.error();
    // The event has expired or was never written, so create it again under its name.
  }
  kube::EventText text = news.text;
  text.message = order->note;
  const kube::ObjectReference place{.resource = kube::kEvents, .name_space = news.job.name_space};
  const auto made = client_.call(
      kube::create(place, kube::make_event(news.job, text, order->name, reporter_, news.time, order->count)),
      stop);
  if (!made) return made.error();
  return {};
}

}  // namespace ratoon::runtime
