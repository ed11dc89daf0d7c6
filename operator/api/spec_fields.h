// Readers of field types that occur several times in a spec: counts with a minimum, lists of texts, names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/contract/fields.h"

namespace ratoon::api {

// A name of lower-case letters, digits and '-', beginning with a letter: usable in the name of a pod or a
// folder.
[[nodiscard]] bool is_dns_label(std::string_view name);

// "roles[0]": names an item of a list in an error message.
[[nodiscard]] std::string item_name(std::string_view list, std::size_t index);

[[nodiscard]] std::uint32_t read_count(Fields& f, const char* name, std::uint32_t min, std::uint32_t max,
                                       std::uint32_t absent);
// Each text has at most `length_max` characters: the definition of a TrainingJob counts characters, not
// bytes.
void read_texts(Fields& f, const char* name, std::size_t texts_max, std::size_t length_max,
                std::vector<std::string>& texts);

// A quantity as Kubernetes writes it: "512Mi", "1.5G", "500m", "2e3", or a plain number. There is no value if
// the text is not a quantity, or is outside of 0 to 2^53.
[[nodiscard]] std::optional<double> parse_quantity(std::string_view quantity);
// Reads the field as a number of 1/`parts` of its unit, rounded up; 0 if the field is missing.
[[nodiscard]] std::uint64_t read_quantity(Fields& f, const char* name, std::uint64_t parts = 1);

// "512Mi", "8Gi" or "1Ti" in MiB; nothing if the text has another form.
[[nodiscard]] std::optional<std::uint64_t> parse_mebibytes(std::string_view quantity);

}  // namespace ratoon::api
