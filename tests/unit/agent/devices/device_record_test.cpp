// The facts that follow from the readings and error events of a device.
#include "agent/src/devices/health/device_record.h"

#include <gtest/gtest.h>

namespace ratoon::devices::device_record_test {
namespace {

TEST(DeviceRecord, WithoutReadingsNothingIsKnown) {
  EXPECT_EQ(DeviceRecord().facts(), DeviceFacts());
}

TEST(DeviceRecord, ErrorsFromBeforeTheFirstReadingAreNoFact) {
  DeviceRecord record;
  record.add_reading({.uncorrectable_errors = 7});
  EXPECT_FALSE(record.facts().has_uncorrectable_error);
  record.add_reading({});
  record.add_reading({.uncorrectable_errors = 8});
  EXPECT_TRUE(record.facts().has_uncorrectable_error);
  record.add_reading({.uncorrectable_errors = 0});  // the driver was loaded again
  EXPECT_TRUE(record.facts().has_uncorrectable_error);
}

TEST(DeviceRecord, OnlyAFatalEventIsAFactAndTheFirstOneStays) {
  DeviceRecord record;
  EXPECT_TRUE(record.record_xid(13));
  EXPECT_EQ(record.facts().fatal_xid, std::nullopt);
  EXPECT_TRUE(record.record_xid(79));
  EXPECT_FALSE(record.record_xid(79));
  EXPECT_TRUE(record.record_xid(95));
  EXPECT_EQ(record.facts().fatal_xid, 79u);
  EXPECT_EQ(record.xids(), (std::map<std::uint64_t, std::uint64_t>{{13, 1}, {79, 2}, {95, 1}}));
}

TEST(DeviceRecord, AnEventThatMayBeFatalIsAFactOfItsOwn) {
  DeviceRecord record;
  EXPECT_TRUE(record.record_xid(149));
  EXPECT_TRUE(record.record_xid(145));
  EXPECT_EQ(record.facts(), DeviceFacts{.unclear_xid = 149});
}

TEST(DeviceRecord, ADeviceThatWasLostStaysLost) {
  DeviceRecord record;
  record.add_reading({.is_lost = true});
  record.add_reading({});
  EXPECT_TRUE(record.facts().is_device_missing);
}

TEST(DeviceRecord, RemappingIsThatOfTheNewestReading) {
  DeviceRecord record;
  record.add_reading({.is_row_remap_pending = true, .has_row_remap_failed = true});
  EXPECT_TRUE(record.facts().is_row_remap_pending);
  EXPECT_TRUE(record.facts().has_row_remap_failed);
  record.add_reading({.is_row_remap_pending = false, .has_row_remap_failed = false});
  EXPECT_EQ(record.facts(), DeviceFacts());
}

TEST(DeviceRecord, FactsAboutTwoDevicesAreJoined) {
  const DeviceFacts broken{.fatal_xid = 48,
                           .unclear_xid = 145,
                           .has_uncorrectable_error = true,
                           .has_row_remap_failed = true,
                           .is_row_remap_pending = true,
                           .is_device_missing = true};
  EXPECT_EQ(merge_facts(broken, {}), broken);
  EXPECT_EQ(merge_facts({}, broken), broken);
  EXPECT_EQ(merge_facts({.fatal_xid = 79}, broken).fatal_xid, 79u);
}

}  // namespace
}  // namespace ratoon::devices::device_record_test
