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
    const std::lock_guard lock(shared->mutex);
    shared->has_ended = true;
    shared->changed.notify_all();
  }).detach();
}

DeviceWatch::~DeviceWatch() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_ending = true;
  shared_->changed.notify_all();
}

std::string DeviceWatch::uuid() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->uuid;
}

DeviceRecord DeviceWatch::record() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->record;
}

DeviceFacts DeviceWatch::facts(Duration within) {
  std::unique_lock lock(shared_->mutex);
  const std::uint64_t own = ++shared_->readings_requested;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, within,
                            [&] { return shared_->readings_served >= own || shared_->has_ended; });
  return shared_->record.facts();
}

bool DeviceWatch::open(Shared& shared) {
  auto opened = shared.open();
  if (!opened) {
    if (opened.error().kind() != ErrorKind::kNotFound)
      shared.tell("the health of a device is not watched: " + opened.error().message());
    return false;
  }
  shared.source = *std::move(opened);
  const std::lock_guard lock(shared.mutex);
  shared.uuid = shared.source->uuid();
  return true;
}

void DeviceWatch::run_watch_loop(Shared& shared) {
  const SystemClock clock;
  Timestamp next = clock.now();
  for (;;) {
    bool is_asked = false;
    {
      const std::lock_guard lock(shared.mutex);
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

void DeviceWatch::read(Shared& shared) {
  std::uint64_t asked = 0;
  {
    const std::lock_guard lock(shared.mutex);
    asked = shared.readings_requested;
  }
  // Record earlier error events first. Their number is limited: a device may report events without end.
  for (int left = shared.source->reports_xids() ? kXidsPerReadingMax : 0; left > 0; --left) {
    const auto xid = shared.source->wait_for_xid(Duration::zero());
    if (!xid) break;
    record_xid(shared, *xid);
  }
  const DeviceReading reading = shared.source->read();
  const std::lock_guard lock(shared.mutex);
  shared.record.add_reading(reading);
  shared.readings_served = asked;
  shared.changed.notify_all();
}

void DeviceWatch::record_xid(Shared& shared, std::uint64_t xid) {
  {
    const std::lock_guard lock(shared.mutex);
    if (!shared.record.record_xid(xid)) return;
  }
  shared.tell(describe_xid_event(shared.uuid, xid));
}

void DeviceWatch::wait_for_xid_or_request(Shared& shared, Timestamp until) {
  const SystemClock clock;
  const Duration left = std::clamp<Duration>(until - clock.now(), Duration::zero(), kXidWaitMax);
  std::unique_lock lock(shared.mutex);
  if (!shared.source->reports_xids()) {
    shared.changed.wait_for(
        lock, left, [&] { return shared.is_ending || shared.readings_served < shared.readings_requested; });
    return;
  }
  lock.unlock();
  if (const auto xid = shared.source->wait_for_xid(left)) record_xid(shared, *xid);
}

}  // namespace ratoon::devices
