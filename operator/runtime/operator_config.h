// Reads the operator's options from a file. An unknown field is an error, because it would have no effect.
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

// Sets the options that the document contains; leaves all other options unchanged.
[[nodiscard]] Result<void> apply_operator_config(const nlohmann::json& document, OperatorOptions& options);

// Reads the YAML file at `path` and sets the options that it contains; an error names the file.
[[nodiscard]] Result<void> read_operator_config(const std::string& path, OperatorOptions& options);

}  // namespace ratoon::runtime
