#include "agent/src/devices/xids.h"

#include <algorithm>
#include <array>

namespace ratoon::devices {
namespace {

using enum XidSeverity;

struct XidRow {
  std::uint64_t xid;
  XidSeverity severity;
  const char* sentence;
};

// An Xid (an error event of NVIDIA's driver) is fatal if NVIDIA's catalogue says to reset the device, to
// restart the machine or to repair its links. Xid 94 is fatal, too: the program must start again, and a part
// of the memory cannot be used until a reset. The catalogue names no action for Xid 167, but the device no
// longer answers over PCIe. The Xids 13, 31, 43, 45 and 109 are harmless, because faults of a program's own
// kernels cause them. The Xids 63 and 160 say that a part of the device's memory will be replaced at the next
// reset, which matters only together with an error (see DeviceFacts::is_row_remap_pending).
constexpr auto kXidTable = std::to_array<XidRow>({
    {13, kHarmless, "a kernel caused an exception"},
    {31, kHarmless, "a kernel used memory that is not mapped"},
    {43, kHarmless, "the work of a program was stopped"},
    {45, kHarmless, "the work of a program was removed after an earlier error"},
    {46, kFatal, "the GPU stopped processing"},
    {48, kFatal, "an uncorrectable error in the GPU's memory"},
    {62, kFatal, "the GPU's power management halted"},
    {63, kHarmless, "a row of the GPU's memory will be replaced at the next reset"},
    {64, kFatal, "a bad row of the GPU's memory could not be replaced"},
    {74, kFatal, "an error of an NVLink connection"},
    {79, kFatal, "the GPU has fallen off the bus"},
    {92, kHarmless, "many corrected errors in the GPU's memory"},
    {94, kFatal, "an uncorrectable memory error that was contained"},
    {95, kFatal, "an uncorrectable memory error that was not contained"},
    {109, kHarmless, "the GPU did not switch away from a program in time"},
    {110, kFatal, "a security fault of the GPU"},
    {119, kFatal, "the GPU's system processor does not answer"},
    {120, kFatal, "an error of the GPU's system processor"},
    {136, kFatal, "an NVLink connection could not be trained"},
    {140, kFatal, "an uncorrectable memory error that was not reported in time"},
    {143, kFatal, "the GPU could not be initialized"},
    {144, kUnclear, "an error of an NVLink connection"},
    {145, kUnclear, "an error of an NVLink connection"},
    {146, kUnclear, "an error of an NVLink connection"},
    {147, kUnclear, "an error of an NVLink connection"},
    {148, kUnclear, "an error of an NVLink connection"},
    {149, kUnclear, "an error of an NVLink connection"},
    {150, kUnclear, "an error of an NVLink connection"},
    {151, kFatal, "the keys of the GPU's encrypted memory could not be changed"},
    {155, kFatal, "an error of an NVLink connection"},
    {156, kFatal, "a part of the GPU was retired"},
    {158, kFatal, "the GPU did not answer in time"},
    {160, kHarmless, "a channel of the GPU's memory is marked for repair"},
    {162, kHarmless, "the GPU smooths its power again"},
    {167, kFatal, "a fatal timeout of the GPU's PCIe connection"},
});

const XidRow* find_xid(std::uint64_t xid) {
  const auto row = std::ranges::lower_bound(kXidTable, xid, {}, &XidRow::xid);
  return row != kXidTable.end() && row->xid == xid ? &*row : nullptr;
}

}  // namespace

XidSeverity severity_of_xid(std::uint64_t xid) {
  const XidRow* row = find_xid(xid);
  return row == nullptr ? kHarmless : row->severity;
}

std::string_view describe_xid(std::uint64_t xid) {
  const XidRow* row = find_xid(xid);
  return row == nullptr ? "" : row->sentence;
}

}  // namespace ratoon::devices
