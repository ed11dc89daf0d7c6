// DeviceRecord: the facts about a device that follow from all its readings and error events so far.
// DeviceRecord does no I/O and reads no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "agent/src/devices/fault_decision.h"
#include "agent/src/devices/health/device_reading.h"

namespace ratoon::devices {

class DeviceRecord {
 public:
  void add_reading(const DeviceReading& reading);
  // Records an error event of the driver (see xids.h). Returns true if no earlier event had this number.
  bool record_xid(std::uint64_t xid);

  [[nodiscard]] const std::optional<DeviceReading>& newest_reading() const { return newest_reading_; }
  // Returns the count of error events for each event number.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& xids() const { return xids_; }
  // Returns the facts about this device since the first reading.
  [[nodiscard]] DeviceFacts facts() const;

 private:
  std::optional<DeviceReading> newest_reading_;
  std::optional<std::uint64_t> uncorrectable_errors_at_start_;
  std::optional<std::uint64_t> fatal_xid_;    // the first one
  std::optional<std::uint64_t> unclear_xid_;  // the first one
  std::map<std::uint64_t, std::uint64_t> xids_;
  bool has_uncorrectable_error_ = false;
  bool was_lost_ = false;
};

// Joins the facts about two devices of one process.
[[nodiscard]] DeviceFacts merge_facts(DeviceFacts one, const DeviceFacts& other);

}  // namespace ratoon::devices
