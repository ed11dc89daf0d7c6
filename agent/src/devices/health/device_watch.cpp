#include "agent/src/devices/health/device_watch.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "agent/src/devices/xids.h"

namespace ratoon::devices {
namespace {

using namespace std::chrono_literals;

constexpr Duration kReadInterval = 1s;
// kXidWaitMax limits each wait for an error event, because the driver's wait cannot be interrupted.
constexpr Duration kXidWaitMax = 200ms;
constexpr int kXidsPerReadingMax = 64;

std::string describe_xid_event(const std::string& uuid, std::uint64_t xid) {
  const std::string_view words = describe_xid(xid);
  return "the driver reported Xid " + std::to_string(xid) +
         (words.empty() ? "" : " (" + std::string(words) + ")") + " about the device " + uuid;
}

}  // namespace

DeviceWatch::DeviceWatch(OpenDevice open, ReportFunction tell) {
  shared_->open = std::move(open);
  shared_->tell = std::move(tell);
  std::thread([shared = shared_] {
    if (DeviceWatch::open(*shared)) run_watch_loop(*shared);
    const MutexLock lock(shared->mutex);
    shared->has_ended = true;
    shared->changed.notify_all();
  }).detach();
}

DeviceWatch::~DeviceWatch() {
  const MutexLock lock(shared_->mutex);
  shared_->is_ending = true;
  shared_->changed.notify_all();
}

std::string DeviceWatch::uuid() const {
  const MutexLock lock(shared_->mutex);
  return shared_->uuid;
}

DeviceRecord DeviceWatch::record() const {
  const MutexLock lock(shared_->mutex);
  return shared_->record;
}

DeviceFacts DeviceWatch::facts(Duration within) {
  MutexLock lock(shared_->mutex);
  const std::uint64_t own = ++shared_->readings_requested;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, within, [&]() RATOON_REQUIRES(shared_->mutex) {
    return shared_->readings_served >= own || shared_->has_ended;
  });
  return shared_->record.facts();
}

bool DeviceWatch::open(SharedState& shared) {
  auto opened = shared.open();
  if (!opened) {
    if (opened.error().kind() != ErrorKind::kNotFound)
      shared.tell("the health of a device is not watched: " + opened.error().message());
    return false;
  }
  shared.source = *std::move(opened);
  const MutexLock lock(shared.mutex);
  shared.uuid = shared.source->uuid();
  return true;
}

void DeviceWatch::run_watch_loop(SharedState& shared) {
  const SystemClock clock;
  Timestamp next = clock.now();
  for (;;) {
    bool is_asked = false;
    {
      const MutexLock lock(shared.mutex);
      if (shared.is_ending) return;
      is_asked = shared.readings_served < shared.readings_requested;
    }
    if (is_asked || clock.now() >= next) {
      read(shared);
      next = clock.now() + kReadInterval;
    }
    wait_for_xid_or_request(shared, next);
  }
}

void DeviceWatch::read(SharedState& shared) {
  std::uint64_t asked = 0;
  {
    const MutexLock lock(shared.mutex);
    asked = shared.readings_requested;
  }
  // Record earlier error events first. Their number is limited: a device may report events without end.
  for (int left = shared.source->reports_xids() ? kXidsPerReadingMax : 0; left > 0; --left) {
    const auto xid = shared.source->wait_for_xid(Duration::zero());
    if (!xid) break;
    record_xid(shared, *xid);
  }
  const DeviceReading reading = shared.source->read();
  const MutexLock lock(shared.mutex);
  shared.record.add_reading(reading);
  shared.readings_served = asked;
  shared.changed.notify_all();
}

void DeviceWatch::record_xid(SharedState& shared, std::uint64_t xid) {
  {
    const MutexLock lock(shared.mutex);
    if (!shared.record.record_xid(xid)) return;
  }
  shared.tell(describe_xid_event(shared.uuid, xid));
}

void DeviceWatch::wait_for_xid_or_request(SharedState& shared, Timestamp until) {
  const SystemClock clock;
  const Duration left = std::clamp<Duration>(until - clock.now(), Duration::zero(), kXidWaitMax);
  MutexLock lock(shared.mutex);
  if (!shared.source->reports_xids()) {
    shared.changed.wait_for(lock, left, [&]() RATOON_REQUIRES(shared.mutex) {
      return shared.is_ending || shared.readings_served < shared.readings_requested;
    });
    return;
  }
  lock.unlock();
  if (const auto xid = shared.source->wait_for_xid(left)) record_xid(shared, *xid);
}

}  // namespace ratoon::devices
