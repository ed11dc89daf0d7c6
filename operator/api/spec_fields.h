// Reads the types of fields that several parts of a spec use: counts with a minimum, lists of texts, names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/contract/fields.h"

namespace ratoon::api {

// Returns whether the name has only lower-case letters, digits and '-' and begins with a letter, so that it
// can be a part of the name of a pod or folder.
[[nodiscard]] bool is_dns_label(std::string_view name);

// Returns the name of a list's item for an error message, such as "roles[0]".
[[nodiscard]] std::string item_name(std::string_view list, std::size_t index);

[[nodiscard]] std::uint32_t read_count(Fields& f, const char* name, std::uint32_t min, std::uint32_t max,
                                       std::uint32_t absent);
// Each text may have at most `length_max` characters. (The CustomResourceDefinition of TrainingJob also
// counts characters, not bytes.)
void read_string_list(Fields& f, const char* name, std::size_t texts_max, std::size_t length_max,
                      std::vector<std::string>& texts);

// Parses a Kubernetes quantity: "512Mi", "1.5G", "500m", "2e3" or a plain number. Returns nothing if the text
// is not a quantity, or if its value is not between 0 and 2^53.
[[nodiscard]] std::optional<double> parse_quantity(std::string_view quantity);
// Returns the field's quantity times `parts`, rounded up; 0 if the field is missing.
[[nodiscard]] std::uint64_t read_quantity(Fields& f, const char* name, std::uint64_t parts = 1);

// Converts "512Mi", "8Gi" or "1Ti" to a number of MiB; returns nothing for a text of another form.
[[nodiscard]] std::optional<std::uint64_t> parse_mebibytes(std::string_view quantity);

}  // namespace ratoon::api
