// Notes: what hangs on the board, by attempt, and who waits for what. It knows no socket: requests of
// numbered readers come in, answers to them go out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/src/board/frame.h"

namespace ratoon::board {

class Notes {
 public:
  using Reader = std::uint64_t;  // never given to another one
  struct Answer {
    Reader to = 0;
    Frame frame;
  };
  using Answers = std::vector<Answer>;

  static constexpr std::size_t kBytesMax = std::size_t{256} << 20;

  explicit Notes(std::size_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

  // Drops what belongs to older attempts; whoever waits there is told. Attempts that are still to begin are
  // kept: their ranks may be here before rank 0 is.
  [[nodiscard]] Answers begin(std::uint64_t attempt);
  // `from` may not be waiting. The answers are to `from`, unless it waits now, and to those who waited for
  // this.
  [[nodiscard]] Answers take(Reader from, Frame request);
  void forget(Reader reader);

  [[nodiscard]] bool is_waiting(Reader reader) const { return waiting_.contains(reader); }
  // About what all of it takes.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Attempt {
    std::map<std::string, std::string> values;
    std::map<std::string, std::vector<Reader>> readers;  // by the first key that each still misses
  };
  struct Waiting {
    Frame request;
    std::size_t next = 0;  // words before it are there
  };

  [[nodiscard]] std::optional<Answer> look(Reader reader, Waiting& waiting);
  [[nodiscard]] Answers put(Reader from, const Frame& request, std::string value,
                            std::vector<std::string> words);
  [[nodiscard]] Answers add(Reader from, const Frame& request);
  [[nodiscard]] bool has_room(std::size_t bytes) const { return bytes <= bytes_max_ - bytes_; }

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t attempt_ = 0;
  std::map<std::uint64_t, Attempt> attempts_;
  std::map<Reader, Waiting> waiting_;
};

}  // namespace ratoon::board
