// The digest of a data set is the SHA-256, in 64 hexadecimal digits, of the facts in its index about its
// content. File names and folders do not count, so that equal data has equal digests in any place.
// docs/reference/mds.md has the definition.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "agent/src/mds/format/index.h"

namespace ratoon::mds {

[[nodiscard]] Result<std::string> digest_of(const Index& index);

}  // namespace ratoon::mds
