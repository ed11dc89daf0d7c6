// Lines of a history as values and as JSON, one line each; docs/reference/history.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::history {

// So many bytes of that attempt's file, and of those before it what its first line says. A manifest keeps
// one.
struct Place {
  Attempt attempt{0};
  std::uint64_t bytes = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

// The first line of an attempt's file.
struct Beginning {
  Attempt attempt{0};
  std::optional<Place> after;  // where it goes on from; nullopt: with it the history begins

  friend bool operator==(const Beginning&, const Beginning&) = default;
};

// Any other line.
struct Row {
  std::string kind;  // "step", "validation", "save", "ledger": what the values are of
  std::uint64_t step = 0;
  WallTime at;  // milliseconds are kept
  std::map<std::string, double> values{};

  friend bool operator==(const Row&, const Row&) = default;
};

inline constexpr std::size_t kLineBytesMax = 1U << 20;

// With the newline that ends them. Numbers come back bit for bit; "NaN", "Infinity" and "-Infinity" are
// texts, for which JSON has no numbers.
[[nodiscard]] std::string encode(const Beginning& beginning);
[[nodiscard]] std::string encode(const Row& row);
// Without the newline.
[[nodiscard]] Result<Beginning> decode_beginning(std::string_view line);
[[nodiscard]] Result<Row> decode_row(std::string_view line);

}  // namespace ratoon::history
