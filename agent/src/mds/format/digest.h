// The digest of a data set is the SHA-256, in 64 hexadecimal digits, of those parts of its index that depend
// on its contents. File names and folders are not hashed, so that copies of a data set in other folders have
// the same digest. docs/reference/mds.md has the definition.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "agent/src/mds/format/index.h"

namespace ratoon::mds {

[[nodiscard]] Result<std::string> digest_of(const Index& index);

}  // namespace ratoon::mds
