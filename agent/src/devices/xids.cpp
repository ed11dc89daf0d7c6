#include "agent/src/devices/xids.h"

#include <algorithm>
#include <array>

namespace ratoon::devices {
namespace {

struct XidRow {
  std::uint64_t xid;
  bool is_fatal;
  const char* sentence;
};

// An Xid (an error event of NVIDIA's driver) is fatal if NVIDIA's catalogue says to reset the device, to
// restart the machine or to repair its links. Xid 94 is fatal, too: the program must start again, and a part
// of the memory cannot be used until a reset. The Xids 13, 31, 43, 45 and 109 are not fatal, because faults
// of a program's own kernels cause them. Xid 63 says that a row of the device's memory will be replaced at
// the next reset, which matters only together with an error (see DeviceFacts::is_remap_pending).
constexpr auto kXidTable = std::to_array<XidRow>({
    {13, false, "a kernel caused an exception"},
    {31, false, "a kernel used memory that is not mapped"},
    {43, false, "the work of a program was stopped"},
    {45, false, "the work of a program was removed after an earlier error"},
    {46, true, "the GPU stopped processing"},
    {48, true, "an uncorrectable error in the GPU's memory"},
    {62, true, "the GPU's power management halted"},
    {63, false, "a row of the GPU's memory will be replaced at the next reset"},
    {64, true, "a bad row of the GPU's memory could not be replaced"},
    {74, true, "an error of an NVLink connection"},
    {79, true, "the GPU has fallen off the bus"},
    {92, false, "many corrected errors in the GPU's memory"},
    {94, true, "an uncorrectable memory error that was contained"},
    {95, true, "an uncorrectable memory error that was not contained"},
    {109, false, "the GPU did not switch away from a program in time"},
    {110, true, "a security fault of the GPU"},
    {119, true, "the GPU's system processor does not answer"},
    {120, true, "an error of the GPU's system processor"},
    {136, true, "an NVLink connection could not be trained"},
    {140, true, "an uncorrectable memory error that was not reported in time"},
    {143, true, "the GPU could not be initialized"},
    {144, true, "an error of an NVLink connection"},
    {145, true, "an error of an NVLink connection"},
    {146, true, "an error of an NVLink connection"},
    {147, true, "an error of an NVLink connection"},
    {148, true, "an error of an NVLink connection"},
    {149, true, "an error of an NVLink connection"},
    {150, true, "an error of an NVLink connection"},
    {151, true, "the keys of the GPU's encrypted memory could not be changed"},
    {155, true, "an error of an NVLink connection"},
    {156, true, "a part of the GPU was retired"},
    {158, true, "the GPU did not answer in time"},
    {160, true, "a memory channel of the GPU was retired"},
    {162, true, "an error of the GPU that needs a reset"},
});

const XidRow* find_xid(std::uint64_t xid) {
  const auto row = std::ranges::lower_bound(kXidTable, xid, {}, &XidRow::xid);
  return row != kXidTable.end() && row->xid == xid ? &*row : nullptr;
}

}  // namespace

bool is_fatal_xid(std::uint64_t xid) {
  const XidRow* row = find_xid(xid);
  return row != nullptr && row->is_fatal;
}

std::string_view describe_xid(std::uint64_t xid) {
  const XidRow* row = find_xid(xid);
  return row == nullptr ? "" : row->sentence;
}

}  // namespace ratoon::devices
