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
constexpr std::string_view kBetween = "  ";
constexpr std::uint64_t kEighths = 8;
constexpr auto kTerminalPause = std::chrono::milliseconds(100);
constexpr auto kFirstLinePause = std::chrono::seconds(1);
constexpr auto kLinePauseMax = std::chrono::minutes(10);

__extension__ using Wide = unsigned __int128;

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, arguments...);
  return text.data();
}

// Returns a time as a text such as "0:07", "12:34", "1:02:03" or "3d 04:05".
std::string text_of(Duration time) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(std::max(time, Duration(0))).count();
  const auto s = static_cast<long long>(whole);
  if (s < 3600) return print("%lld:%02lld", s / 60, s % 60);
  if (s < 86'400) return print("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  return print("%lldd %02lld:%02lld", s / 86'400, s / 3600 % 24, s / 60 % 60);
}

std::string text_of_rate(double rate, const std::string& unit) {
  if (rate >= 1000) return print("%.0f/s", rate);
  if (rate >= 1) return print("%.1f/s", rate);
  return print("%.1f s/", 1 / rate) + unit;
}

std::string text_of_place(const BarState& state) {
  const std::string position = std::to_string(state.position);
  return state.total == 0 ? position : position + "/" + std::to_string(state.total);
}

// Returns the position as a text that always has the same width, so that the items after it do not move.
std::string steady_text_of_place(const BarState& state) {
  const std::size_t digits = std::to_string(state.total).size();
  const std::size_t used = std::to_string(state.position).size();
  return std::string(digits - std::min(used, digits), ' ') + text_of_place(state);
}

// Returns the part of `whole` that corresponds to this position. The result is `whole` only at the end of the
// run.
std::uint64_t share_of(const BarState& state, std::uint64_t whole) {
  if (state.position >= state.total) return whole;
  return static_cast<std::uint64_t>(Wide{whole} * state.position / state.total);
}

std::string draw_utf8(std::uint64_t eighths, std::size_t columns) {
  constexpr std::array<std::string_view, kEighths> kPartial = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string bar = "|";
  for (std::size_t i = 0; i < columns; ++i) {
    const std::uint64_t filled = std::min<std::uint64_t>(eighths, kEighths);
    bar += filled == kEighths ? std::string_view("█") : kPartial[filled];
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
std::string draw(const BarState& state, std::size_t columns, Glyphs glyphs) {
  const std::size_t inner = columns - 2;
  if (glyphs == Glyphs::kAscii) return draw_ascii(share_of(state, inner), inner);
  return draw_utf8(share_of(state, inner * kEighths), inner);
}

// One item in the line of the progress bar, such as the time left. If the line is too long, the item with the
// highest rank is left out first.
struct Item {
  std::string text;  // ASCII; empty: the bar itself
  int rank = 0;
};

std::vector<Item> items_of(const BarState& state) {
  std::vector<Item> items;
  if (!state.title.empty()) items.push_back({state.title, 4});
  if (state.total > 0) {
    items.push_back({print("%3llu%%", static_cast<unsigned long long>(share_of(state, 100))), 1});
    items.push_back({"", 3});
  }
  items.push_back({steady_text_of_place(state), 0});
  if (const auto rate = rate_per_second(state)) items.push_back({text_of_rate(*rate, state.unit), 5});
  if (state.total > 0) {
    const auto left = time_left(state);
    items.push_back({"left " + (left ? text_of(*left) : "?"), 2});
  }
  if (state.loss) items.push_back({print("loss %.4g", *state.loss), 6});
  if (state.durable) items.push_back({"durable " + std::to_string(*state.durable), 7});
  return items;
}

bool is_bar(const Item& item) {
  return item.text.empty();
}

// Returns the number of columns that `items` need, including kBetween between two items and the smallest
// width of the bar.
std::size_t columns_of(const std::vector<Item>& items) {
  std::size_t columns = items.empty() ? 0 : kBetween.size() * (items.size() - 1);
  for (const Item& item : items) columns += is_bar(item) ? kBarColumnsMin : item.text.size();
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
  std::vector<Item> items = items_of(state);
  while (columns_of(items) > columns && items.size() > 1) {
    items.erase(std::max_element(items.begin(), items.end(),
                                 [](const Item& a, const Item& b) { return a.rank < b.rank; }));
  }
  const std::size_t used = columns_of(items);
  if (used > columns) return items.front().text.substr(0, columns);
  std::string text;
  for (const Item& item : items) {
    if (!text.empty()) text += kBetween;
    const std::size_t bar = std::min(kBarColumnsMax, kBarColumnsMin + columns - used);
    text += is_bar(item) ? draw(state, bar, glyphs) : item.text;
  }
  return text;
}

std::string render_line(const BarState& state) {
  std::string text = state.title.empty() ? std::string() : state.title + ": ";
  text += state.unit + " " + text_of_place(state);
  if (state.total > 0) text += print(" (%llu %%)", static_cast<unsigned long long>(share_of(state, 100)));
  if (const auto rate = rate_per_second(state)) text += ", " + text_of_rate(*rate, state.unit);
  text += ", " + text_of(state.elapsed);
  if (state.begin_at > 0) text += " since " + state.unit + " " + std::to_string(state.begin_at);
  if (const auto left = time_left(state)) text += ", left " + text_of(*left);
  if (state.loss) text += print(", loss %.4g", *state.loss);
  if (state.durable) text += ", durable " + std::to_string(*state.durable);
  return text;
}

Duration next_pause(bool is_terminal, Duration last) {
  if (is_terminal) return kTerminalPause;
  if (last <= Duration(0)) return kFirstLinePause;
  return std::min<Duration>(2 * last, kLinePauseMax);
}

}  // namespace ratoon::progress
