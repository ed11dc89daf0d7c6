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

[[nodiscard]] std::uint32_t read_count(Fields& f, const char* name, std::uint32_t min, std::uint32_t max,
                                       std::uint32_t absent);
void read_texts(Fields& f, const char* name, std::size_t texts_max, std::size_t bytes_max,
                std::vector<std::string>& texts);

// "512Mi", "8Gi" or "1Ti" in MiB; nothing where it is none of these.
[[nodiscard]] std::optional<std::uint64_t> parse_mebibytes(std::string_view quantity);

}  // namespace ratoon::api
