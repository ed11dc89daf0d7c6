#include "operator/runtime/event_writer.h"

#include "base/core/hex.h"

namespace ratoon::runtime {
namespace {

constexpr Duration kAggregated = std::chrono::minutes(10);
constexpr std::size_t kQueueMax = 1024;

}  // namespace

EventWriter::EventWriter(const ApiClient& client, const Clock& clock, std::string reporter, Logger log)
    : client_(client), clock_(clock), reporter_(std::move(reporter)), log_(std::move(log)) {}

EventWriter::~EventWriter() = default;  // its thread is its last member

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
    if (queue_.size() >= kQueueMax) queue_.pop_front();  // a storm: the newest tell most
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
  std::erase_if(written_, [&](const auto& item) { return clock_.now() - item.second.first > kAggregated; });
  const Key key{news.job.uid, news.text};
  kube::Target target{.resource = kube::kEvents, .name_space = news.job.name_space};
  if (const auto before = written_.find(key); before != written_.end()) {
    target.name = before->second.name;
    ++before->second.count;
    const auto patched =
        client_.call(kube::merge_patch(target, kube::repeat_event(before->second.count, news.time)), stop);
    if (patched || patched.error().kind() != ErrorKind::kNotFound) {
      if (!patched) return patched.error();
      return {};
    }
    written_.erase(before);  // it expired: say it anew
    target.name.clear();
  }
  // Time and a number keep names of different events apart, those of the program before this one too.
  const auto time = static_cast<std::uint64_t>(news.time.since_epoch.count());
  const std::string name = news.job.name + "." + to_hex(time + number_++);
  const auto made = client_.call(
      kube::create(target, kube::make_event(news.job, news.text, name, reporter_, news.time)), stop);
  if (!made) return made.error();
  written_.emplace(key, Written{.name = name, .count = 1, .first = clock_.now()});
  return {};
}

}  // namespace ratoon::runtime
