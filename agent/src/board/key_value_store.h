// KeyValueStore: the values that the ranks of the current attempt have stored at rank 0, the rank that set
// each value, and the readers that wait for keys. The store uses no sockets: it knows readers by numbers,
// handles their requests, and returns the answers.
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

struct KeyValueLimits {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t bytes_per_rank = std::size_t{32} << 20;
  std::size_t keys_per_rank = std::size_t{1} << 16;
};

class KeyValueStore {
 public:
  using Reader = std::uint64_t;  // a number is never reused
  struct Answer {
    Reader to = 0;
    Frame frame;
  };
  using Answers = std::vector<Answer>;

  explicit KeyValueStore(const KeyValueLimits& limits = {}) : limits_(limits) {}

  // Removes the values of the previous attempt, and returns refusals to the readers that wait for its
  // values.
  [[nodiscard]] Answers begin_attempt(std::uint64_t attempt);
  // Handles a request. `from` is a reader of `rank` that waits for no answer yet. Returns the answer to
  // `from`, if there is one already, and the answers to readers that waited for this change.
  [[nodiscard]] Answers handle_request(Reader from, std::uint32_t rank, Frame request);
  void cancel_wait(Reader reader);

  [[nodiscard]] bool is_waiting(Reader reader) const { return waiting_requests_.contains(reader); }
  // Returns the approximate memory in bytes of all values.
  [[nodiscard]] std::size_t bytes() const { return used_bytes_; }

 private:
  struct StoredValue {
    std::string value;
    std::uint32_t rank = 0;   // the rank that set it; its memory counts for this rank
    bool is_counter = false;  // set by kAdd: any rank may add to it
  };
  struct WaitingRequest {
    Frame request;
    std::uint32_t rank = 0;
    std::size_t next = 0;  // all words before it exist as keys
  };
  struct Usage {
    std::size_t bytes = 0;
    std::size_t keys = 0;
  };
  struct RankRequest {
    Reader from = 0;
    std::uint32_t rank = 0;
    const Frame& request;
  };

  [[nodiscard]] std::optional<Answer> try_to_answer(Reader reader, WaitingRequest& waiting);
  [[nodiscard]] Answers handle_write(const RankRequest& rank_request);
  [[nodiscard]] Answers wait(Reader from, std::uint32_t rank, Frame request);
  // Returns the reason why the rank is not allowed to change this key; nothing if the rank is allowed to.
  [[nodiscard]] std::optional<std::string> find_write_obstacle(const RankRequest& rank_request,
                                                               const std::string& key) const;
  [[nodiscard]] Answers put(const RankRequest& rank_request, const std::string& key, std::string value,
                            std::vector<std::string> words);
  [[nodiscard]] Answers add(const RankRequest& rank_request);
  [[nodiscard]] Answers erase(const RankRequest& rank_request);
  [[nodiscard]] std::string value_of(const std::string& key) const;
  // Updates the count of the memory that the rank's values use. Returns false, and changes nothing, if the
  // rank or the store would exceed its limit.
  [[nodiscard]] bool update_usage(std::uint32_t rank, const Usage& freed, const Usage& needed);

  KeyValueLimits limits_;
  std::size_t used_bytes_ = 0;
  std::uint64_t attempt_ = 0;
  std::map<std::string, StoredValue> entries_;
  std::map<std::string, std::vector<Reader>>
      readers_by_key_;  // by the first key that each reader still waits for
  std::map<Reader, WaitingRequest> waiting_requests_;
  std::unordered_map<std::uint32_t, Usage> usage_by_rank_;  // by rank
};

}  // namespace ratoon::board
