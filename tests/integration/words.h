// Ranks exchange words once a step by files in a folder, as other trainers do by gradients.
//
//   const Word of_all = words.reduce({.requests = session.requests(), .sum = 17}, session);
//   session.agree(of_all.requests);
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <ratoon/session.h>

namespace ratoon::test {

struct Word {
  std::uint32_t requests = 0;
  std::uint64_t sum = 0;
};

class Words {
 public:
  explicit Words(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The requests of all ranks together, and the sum of their sums. Throws as a collective does if the world
  // changes during the wait.
  [[nodiscard]] Word reduce(const Word& own, const Session& session) const {
    const auto path = path_of(session, session.rank());
    const std::filesystem::path unfinished = path.string() + ".new";
    std::ofstream(unfinished) << own.requests << ' ' << own.sum;
    std::filesystem::rename(unfinished, path);
    Word all;
    for (std::uint32_t rank = 0; rank < session.world_size(); ++rank) {
      const auto theirs = path_of(session, rank);
      while (!std::filesystem::exists(theirs)) {
        session.check();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      Word one;
      std::ifstream(theirs) >> one.requests >> one.sum;
      all.requests |= one.requests;
      all.sum += one.sum;
    }
    return all;
  }

 private:
  [[nodiscard]] std::filesystem::path path_of(const Session& session, std::uint32_t rank) const {
    return folder_ / (std::to_string(session.attempt()) + "-" + std::to_string(session.steps_done()) + "-" +
                      std::to_string(rank));
  }

  std::filesystem::path folder_;
};

}  // namespace ratoon::test
