#include "tests/property/operator/moves.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace ratoon::sim {
namespace {

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && !text.empty();
}

}  // namespace

const std::string Moves::kNobody;

Moves::Moves(std::uint64_t seed, Keeps keeps) : dice_(seed), is_kept_(keeps == Keeps::kAll) {}

Result<Moves> Moves::read(std::string_view story) {
  Moves moves(0);
  moves.is_told_ = true;
  for (std::size_t number = 1; !story.empty(); ++number) {
    const std::string_view line = story.substr(0, story.find('\n'));
    story.remove_prefix(std::min(story.size(), line.size() + 1));
    if (line.empty() || line.front() == '#') continue;
    const auto first = line.find(' ');
    const auto last = line.rfind(' ');
    std::uint64_t moment = 0;
    std::uint64_t value = 0;
    const bool is_move = first != std::string_view::npos && first < last &&
                         read_number(line.substr(0, first), moment) &&
                         read_number(line.substr(last + 1), value);
    if (!is_move)
      return Error(ErrorKind::kInvalid, "line " + std::to_string(number) + " of the story, '" +
                                            std::string(line) +
                                            "', is no move: write a moment, a name and a value");
    moves.told_[{moment, std::string(line.substr(first + 1, last - first - 1))}] = value;
  }
  return moves;
}

void Moves::begin_moment() {
  ++moment_;
  turns_.clear();
}

std::string Moves::name_of_next(const char* what, const std::string& whom) {
  std::string name = whom.empty() ? std::string(what) : std::string(what) + " " + whom;
  const std::uint64_t turn = ++turns_[name];
  if (turn > 1) name += " #" + std::to_string(turn);
  return name;
}

void Moves::keep(std::string name, std::uint64_t value) {
  if (value != 0) kept_.push_back({.moment = moment_, .name = std::move(name), .value = value});
}

std::uint64_t Moves::below(const char* what, const std::string& whom, std::uint64_t end) {
  if (is_told_) {
    const auto told = told_.find({moment_, name_of_next(what, whom)});
    return told == told_.end() ? 0 : std::min(told->second, end - 1);
  }
  const std::uint64_t value = dice_.below(end);
  if (is_kept_) keep(name_of_next(what, whom), value);
  return value;
}

bool Moves::percent(const char* what, const std::string& whom, std::uint64_t chance) {
  if (is_told_) return below(what, whom, 2) != 0;
  const bool happens = dice_.percent(chance);
  if (is_kept_) keep(name_of_next(what, whom), happens ? 1 : 0);
  return happens;
}

std::string Moves::story() const {
  std::string text;
  for (const Move& move : kept_)
    text += std::to_string(move.moment) + " " + move.name + " " + std::to_string(move.value) + "\n";
  return text;
}

}  // namespace ratoon::sim
