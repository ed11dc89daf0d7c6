// Small files that say who we are: kubeconfigs, certificates, tokens.
#pragma once

#include <string>

#include <ratoon/result.h>

namespace ratoon::runtime {

// At most a MiB; more is not what it should be.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace ratoon::runtime
