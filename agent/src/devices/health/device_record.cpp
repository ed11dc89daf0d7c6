#include "agent/src/devices/health/device_record.h"

#include "agent/src/devices/xids.h"

namespace ratoon::devices {

void DeviceRecord::add_reading(const DeviceReading& reading) {
  newest_reading_ = reading;
  was_lost_ |= reading.is_lost;
  if (!reading.uncorrectable_errors) return;
  if (!uncorrectable_errors_at_start_) uncorrectable_errors_at_start_ = reading.uncorrectable_errors;
  has_uncorrectable_error_ |= *reading.uncorrectable_errors > *uncorrectable_errors_at_start_;
}

bool DeviceRecord::record_xid(std::uint64_t xid) {
  const XidSeverity severity = severity_of_xid(xid);
  if (severity == XidSeverity::kFatal && !fatal_xid_) fatal_xid_ = xid;
  if (severity == XidSeverity::kUnclear && !unclear_xid_) unclear_xid_ = xid;
  return ++xids_[xid] == 1;
}

DeviceFacts DeviceRecord::facts() const {
  return {.fatal_xid = fatal_xid_,
          .unclear_xid = unclear_xid_,
          .has_uncorrectable_error = has_uncorrectable_error_,
          .has_row_remap_failed = newest_reading_ && newest_reading_->has_row_remap_failed.value_or(false),
          .is_row_remap_pending = newest_reading_ && newest_reading_->is_row_remap_pending.value_or(false),
          .is_device_missing = was_lost_};
}

DeviceFacts merge_facts(DeviceFacts one, const DeviceFacts& other) {
  if (!one.fatal_xid) one.fatal_xid = other.fatal_xid;
  if (!one.unclear_xid) one.unclear_xid = other.unclear_xid;
  one.has_uncorrectable_error |= other.has_uncorrectable_error;
  one.has_row_remap_failed |= other.has_row_remap_failed;
  one.is_row_remap_pending |= other.is_row_remap_pending;
  one.is_device_missing |= other.is_device_missing;
  return one;
}

}  // namespace ratoon::devices
