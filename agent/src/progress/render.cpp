#include "agent/src/progress/render.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

namespace ratoon::progress {
namespace {

constexpr std::size_t kBarColumnsMin = 10;
constexpr std::size_t kBarColumnsMax = 60;  // a longer bar shows nothing else
constexpr std::string_view kItemSeparator = "  ";
constexpr std::uint64_t kEighthBlocks = 8;
constexpr auto kTerminalPause = std::chrono::milliseconds(100);
constexpr auto kFirstLinePause = std::chrono::seconds(1);
constexpr auto kLinePauseMax = std::chrono::minutes(10);

__extension__ using Uint128 = unsigned __int128;

template <class... Arguments>
std::string format_text(const char* format, Arguments... arguments) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, arguments...);
  return text.data();
}

// Returns a time as a text such as "0:07", "12:34", "1:02:03" or "3d 04:05".
std::string text_of(Duration time) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(std::max(time, Duration(0))).count();
  const auto s = static_cast<long long>(whole);
  if (s < 3600) return format_text("%lld:%02lld", s / 60, s % 60);
  if (s < 86'400) return format_text("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  return format_text("%lldd %02lld:%02lld", s / 86'400, s / 3600 % 24, s / 60 % 60);
}

std::string text_of_rate(double rate, const std::string& unit) {
  if (rate >= 1000) return format_text("%.0f/s", rate);
  if (rate >= 1) return format_text("%.1f/s", rate);
  return format_text("%.1f s/", 1 / rate) + unit;
}

std::string position_text(const BarState& state) {
  const std::string position = std::to_string(state.position);
  return state.total == 0 ? position : position + "/" + std::to_string(state.total);
}

// Returns the position as a text that always has the same width, so that the items after it do not move.
std::string fixed_width_position_text(const BarState& state) {
  const std::size_t digits = std::to_string(state.total).size();
  const std::size_t used = std::to_string(state.position).size();
  return std::string(digits - std::min(used, digits), ' ') + position_text(state);
}

// Multiplies `whole` by the completed part of the run and rounds down, so that the result is `whole` only at
// the end of the run.
std::uint64_t completed_share_of(const BarState& state, std::uint64_t whole) {
  if (state.position >= state.total) return whole;
  return static_cast<std::uint64_t>(Uint128{whole} * state.position / state.total);
}

std::string draw_utf8(std::uint64_t eighths, std::size_t columns) {
  constexpr std::array<std::string_view, kEighthBlocks> kPartial = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string bar = "|";
  for (std::size_t i = 0; i < columns; ++i) {
    const std::uint64_t filled = std::min<std::uint64_t>(eighths, kEighthBlocks);
    bar += filled == kEighthBlocks ? std::string_view("█") : kPartial[filled];
    eighths -= filled;
  }
  return bar + "|";
}

std::string draw_ascii(std::uint64_t full, std::size_t columns) {
  std::string bar(columns, ' ');
  std::fill_n(bar.begin(), full, '=');
  if (full < columns) bar[full] = '>';
  return "[" + bar + "]";
}

// `columns` is the width of the bar, including the characters at its two ends.
std::string draw_bar(const BarState& state, std::size_t columns, Glyphs glyphs) {
  const std::size_t inner = columns - 2;
  if (glyphs == Glyphs::kAscii) return draw_ascii(completed_share_of(state, inner), inner);
  return draw_utf8(completed_share_of(state, inner * kEighthBlocks), inner);
}

// A LineItem is one item in the line of the progress bar, such as the remaining time. If the line is too
// long, the item with the largest value of `rank` is left out first.
struct LineItem {
  std::string text;  // ASCII; empty: the bar itself
  int rank = 0;
};

std::vector<LineItem> items_of(const BarState& state) {
  std::vector<LineItem> items;
  if (!state.title.empty()) items.push_back({state.title, 4});
  if (state.total > 0) {
    items.push_back(
        {format_text("%3llu%%", static_cast<unsigned long long>(completed_share_of(state, 100))), 1});
    items.push_back({"", 3});
  }
  items.push_back({fixed_width_position_text(state), 0});
  if (const auto rate = rate_per_second(state)) items.push_back({text_of_rate(*rate, state.unit), 5});
  if (state.total > 0) {
    const auto left = time_left(state);
    items.push_back({"left " + (left ? text_of(*left) : "?"), 2});
  }
  if (state.loss) items.push_back({format_text("loss %.4g", *state.loss), 6});
  if (state.durable) items.push_back({"durable " + std::to_string(*state.durable), 7});
  return items;
}

bool is_bar(const LineItem& item) {
  return item.text.empty();
}

// Returns the number of columns that `items` need, including kItemSeparator between two items and the
// smallest width of the bar.
std::size_t columns_of(const std::vector<LineItem>& items) {
  std::size_t columns = items.empty() ? 0 : kItemSeparator.size() * (items.size() - 1);
  for (const LineItem& item : items) columns += is_bar(item) ? kBarColumnsMin : item.text.size();
  return columns;
}

}  // namespace

std::optional<double> rate_per_second(const BarState& state) {
  if (state.position <= state.begin_at || state.elapsed <= Duration(0)) return std::nullopt;
  return static_cast<double>(state.position - state.begin_at) / seconds(state.elapsed);
}

std::optional<Duration> time_left(const BarState& state) {
  if (state.total == 0) return std::nullopt;
  if (state.position >= state.total) return Duration(0);
  const auto rate = rate_per_second(state);
  if (!rate) return std::nullopt;
  return from_seconds(static_cast<double>(state.total - state.position) / *rate);
}

std::string render_bar(const BarState& state, std::size_t columns, Glyphs glyphs) {
  std::vector<LineItem> items = items_of(state);
  while (columns_of(items) > columns && items.size() > 1) {
    items.erase(std::max_element(items.begin(), items.end(),
                                 [](const LineItem& a, const LineItem& b) { return a.rank < b.rank; }));
  }
  const std::size_t used = columns_of(items);
  if (used > columns) return items.front().text.substr(0, columns);
  std::string text;
  for (const LineItem& item : items) {
    if (!text.empty()) text += kItemSeparator;
    const std::size_t bar = std::min(kBarColumnsMax, kBarColumnsMin + columns - used);
    text += is_bar(item) ? draw_bar(state, bar, glyphs) : item.text;
  }
  return text;
}

std::string render_line(const BarState& state) {
  std::string text = state.title.empty() ? std::string() : state.title + ": ";
  text += state.unit + " " + position_text(state);
  if (state.total > 0)
    text += format_text(" (%llu %%)", static_cast<unsigned long long>(completed_share_of(state, 100)));
  if (const auto rate = rate_per_second(state)) text += ", " + text_of_rate(*rate, state.unit);
  text += ", " + text_of(state.elapsed);
  if (state.begin_at > 0) text += " since " + state.unit + " " + std::to_string(state.begin_at);
  if (const auto left = time_left(state)) text += ", left " + text_of(*left);
  if (state.loss) text += format_text(", loss %.4g", *state.loss);
  if (state.durable) text += ", durable " + std::to_string(*state.durable);
  return text;
}

Duration next_pause(bool is_terminal, Duration last) {
  if (is_terminal) return kTerminalPause;
  if (last <= Duration(0)) return kFirstLinePause;
  return std::min<Duration>(2 * last, kLinePauseMax);
}

}  // namespace ratoon::progress
