// From what a user gives to the bytes of a column.
#pragma once

#include <string>

#include <ratoon/mds_writer.h>
#include <ratoon/result.h>

#include "agent/src/mds/format/encoding.h"

namespace ratoon::mds {

// Appends to `out`, which is left longer where an error is returned.
[[nodiscard]] Result<void> encode_value(const Encoding& encoding, const MdsValue& value, std::string& out);

}  // namespace ratoon::mds
