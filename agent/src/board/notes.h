// Notes: what hangs on the board of the attempt that has begun, by the rank that left it, and which reader
// waits for what. It knows no socket: requests of numbered readers come in, answers to them go out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/src/board/frame.h"

namespace ratoon::board {

struct NotesLimits {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t bytes_of_rank = std::size_t{32} << 20;
  std::size_t keys_of_rank = std::size_t{1} << 16;
};

class Notes {
 public:
  using Reader = std::uint64_t;  // never given to another one
  struct Answer {
    Reader to = 0;
    Frame frame;
  };
  using Answers = std::vector<Answer>;

  explicit Notes(const NotesLimits& limits = {}) : limits_(limits) {}

  // Drops what belongs to the attempt before; the readers that wait there are told.
  [[nodiscard]] Answers begin(std::uint64_t attempt);
  // `from` may not be waiting; it is of `rank`. The answers are to `from`, unless it waits now, and to those
  // that waited for this.
  [[nodiscard]] Answers take(Reader from, std::uint32_t rank, Frame request);
  void forget(Reader reader);

  [[nodiscard]] bool is_waiting(Reader reader) const { return waiting_.contains(reader); }
  // About what all of it takes.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Note {
    std::string value;
    std::uint32_t rank = 0;   // that left it: what it takes counts as this rank's
    bool is_counted = false;  // by kAdd: any rank may add to it
  };
  struct Waiting {
    Frame request;
    std::uint32_t rank = 0;
    std::size_t next = 0;  // words before it are there
  };
  struct Used {
    std::size_t bytes = 0;
    std::size_t keys = 0;
  };
  struct Asked {
    Reader from = 0;
    std::uint32_t rank = 0;
    const Frame& request;
  };

  [[nodiscard]] std::optional<Answer> look(Reader reader, Waiting& waiting);
  [[nodiscard]] Answers change(const Asked& asked);
  [[nodiscard]] Answers wait(Reader from, std::uint32_t rank, Frame request);
  // Why the rank may not change this note.
  [[nodiscard]] std::optional<std::string> find_obstacle(const Asked& asked, const std::string& key) const;
  [[nodiscard]] Answers put(const Asked& asked, const std::string& key, std::string value,
                            std::vector<std::string> words);
  [[nodiscard]] Answers add(const Asked& asked);
  [[nodiscard]] Answers erase(const Asked& asked);
  [[nodiscard]] std::string value_of(const std::string& key) const;
  // Of what the rank takes: false where it would be too much, and then nothing is changed.
  [[nodiscard]] bool charge(std::uint32_t rank, const Used& freed, const Used& needed);

  NotesLimits limits_;
  std::size_t bytes_ = 0;
  std::uint64_t attempt_ = 0;
  std::map<std::string, Note> notes_;
  std::map<std::string, std::vector<Reader>> readers_;  // by the first key that each still misses
  std::map<Reader, Waiting> waiting_;
  std::unordered_map<std::uint32_t, Used> used_;  // by rank
};

}  // namespace ratoon::board
