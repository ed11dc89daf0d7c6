// Decodes the bytes of a column into a field. Numbers, bytes, texts and arrays are not copied: the field
// refers to the bytes of the column. A shape that may differ between samples is copied into the field.
#pragma once

#include <cstddef>
#include <span>

#include <ratoon/result.h>
#include <ratoon/sample.h>

#include "agent/src/mds/format/columns.h"
#include "agent/src/mds/format/values/encoding.h"

namespace ratoon::mds {

// Decodes a sample and adds one field per column. The text of an error names the column.
[[nodiscard]] Result<void> decode_sample(const Columns& columns, std::span<const std::byte> bytes,
                                         Sample& into);

// Decodes a column that is encoded as a list (kList, kJpegArray) and adds one field per element.
[[nodiscard]] Result<void> decode_elements(const Encoding& list, std::span<const std::byte> bytes,
                                           Sample& into);

}  // namespace ratoon::mds
