// Encodes a user's value into the bytes of a column.
#pragma once

#include <string>

#include <ratoon/mds_writer.h>
#include <ratoon/result.h>

#include "agent/src/mds/format/values/encoding.h"

namespace ratoon::mds {

// Appends to `out`. If encode_value() returns an error, `out` may contain a part of the encoded value.
[[nodiscard]] Result<void> encode_value(const Encoding& encoding, const MdsValue& value, std::string& out);

}  // namespace ratoon::mds
