// The operator's options as a file. A field that is not known is an error: what somebody wrote is not to be
// without effect.
//
//   apiVersion: operator.ratoon.dev/v1alpha1
//   kind: OperatorConfig
//   leaderElection: {enabled: true, leaseName: ratoon}
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/runtime/operator.h"

namespace ratoon::runtime {

// Sets in `options` what the document says and leaves the rest.
[[nodiscard]] Result<void> apply_operator_config(const nlohmann::json& document, OperatorOptions& options);

// The same of a YAML file; the error names it.
[[nodiscard]] Result<void> read_operator_config(const std::string& path, OperatorOptions& options);

}  // namespace ratoon::runtime
