// Decodes the bytes of a column into a field. Numbers, bytes, texts and arrays are not copied. Shapes that
// vary between samples are copied.
#pragma once

#include <cstddef>
#include <span>

#include <ratoon/result.h>
#include <ratoon/sample.h>

#include "agent/src/mds/format/columns.h"
#include "agent/src/mds/format/values/encoding.h"

namespace ratoon::mds {

// Adds one field per column. Errors name the column.
[[nodiscard]] Result<void> decode_sample(const Columns& columns, std::span<const std::byte> bytes,
                                         Sample& into);

// Adds one field per element of a column that is encoded as a list (kList, kJpegArray).
[[nodiscard]] Result<void> decode_elements(const Encoding& list, std::span<const std::byte> bytes,
                                           Sample& into);

}  // namespace ratoon::mds
