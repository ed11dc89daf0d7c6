#include "tests/support/nccl_stand_in/last_words.h"

#include <mutex>
#include <utility>

#include "tests/support/nccl_stand_in/immortal.h"

namespace ratoon::test::nccl_stand_in {
namespace {

struct LastWords {
  std::mutex mutex;
  std::string words;  // guarded by mutex
};

}  // namespace

void say(std::string words) {
  auto& last = immortal<LastWords>();
  const std::scoped_lock lock(last.mutex);
  last.words = std::move(words);
}

std::string last_words() {
  auto& last = immortal<LastWords>();
  const std::scoped_lock lock(last.mutex);
  return last.words;
}

ncclResult_t refuse(ncclResult_t result, std::string words) {
  say(std::move(words));
  return result;
}

}  // namespace ratoon::test::nccl_stand_in
