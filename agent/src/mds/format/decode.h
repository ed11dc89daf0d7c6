// From the bytes of a column to a field. Numbers, bytes, texts and arrays stay where they are; nothing is
// copied but shapes that vary.
#pragma once

#include <cstddef>
#include <span>

#include <ratoon/result.h>
#include <ratoon/sample.h>

#include "agent/src/mds/format/columns.h"
#include "agent/src/mds/format/encoding.h"

namespace ratoon::mds {

// Adds one field a column. Errors name the column.
[[nodiscard]] Result<void> decode_sample(const Columns& columns, std::span<const std::byte> bytes,
                                         Sample& into);

// Adds one field an element of a column that is encoded as a list (kList, kJpegArray).
[[nodiscard]] Result<void> decode_elements(const Encoding& list, std::span<const std::byte> bytes,
                                           Sample& into);

}  // namespace ratoon::mds
