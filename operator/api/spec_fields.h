// Readers of what stands in more than one place of a spec: counts with a smallest value, lists of texts,
// names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/contract/fields.h"

namespace ratoon::api {

// Lower-case letters, digits and '-', beginning with a letter: a part of the name of a pod or a folder.
[[nodiscard]] bool is_dns_label(std::string_view name);

// "roles[0]": how a complaint names an item of a list.
[[nodiscard]] std::string item_name(std::string_view list, std::size_t index);

[[nodiscard]] std::uint32_t read_count(Fields& f, const char* name, std::uint32_t min, std::uint32_t max,
                                       std::uint32_t absent);
// Each of at most `length_max` characters: the definition of a TrainingJob counts these, and not bytes.
void read_texts(Fields& f, const char* name, std::size_t texts_max, std::size_t length_max,
                std::vector<std::string>& texts);

// A quantity as Kubernetes writes it: "512Mi", "1.5G", "500m", "2e3", a number. Nothing where it is none, or
// not one from 0 to 2^53.
[[nodiscard]] std::optional<double> parse_quantity(std::string_view quantity);
// So many parts of a whole, rounded up; 0 where there is none.
[[nodiscard]] std::uint64_t read_quantity(Fields& f, const char* name, std::uint64_t parts = 1);

// "512Mi", "8Gi" or "1Ti" in MiB; nothing where it is none of these.
[[nodiscard]] std::optional<std::uint64_t> parse_mebibytes(std::string_view quantity);

}  // namespace ratoon::api
