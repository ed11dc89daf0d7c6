// The digest of a data set, 64 hexadecimal digits: SHA-256 over the facts about its content in its index.
// File names and folders are left out, so that equal data has equal digests in any place.
// docs/reference/mds.md has the definition.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "agent/src/mds/format/index.h"

namespace ratoon::mds {

[[nodiscard]] Result<std::string> digest_of(const Index& index);

}  // namespace ratoon::mds
