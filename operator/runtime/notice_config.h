// Reads rules about nodes that will end from the operator's configuration. The file's rules are added to the
// built-in rules. A rule named like a built-in rule replaces that rule or, with `enabled: false`, removes it.
//
//   apiVersion: operator.ratoon.dev/v1alpha1
//   kind: NoticeRules
//   rules:
//     - {name: rack-maintenance, sign: Label, key: example.com/maintenance, value: soon, seconds: 600}
//     - {name: aws-rebalance, enabled: false}
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/core/members/notice_rules.h"

namespace ratoon::runtime {

inline constexpr std::size_t kNoticeRulesMax = 128;  // of a file

// Returns `rules` with the changes of the document. An error names the rule and the field.
[[nodiscard]] Result<core::NoticeRules> apply_notice_rules(const nlohmann::json& document,
                                                           core::NoticeRules rules);

// Returns the built-in rules with the changes of the YAML file at `path`, or unchanged if `path` is empty. An
// error names the file.
[[nodiscard]] Result<core::NoticeRules> read_notice_rules(const std::string& path);

}  // namespace ratoon::runtime
