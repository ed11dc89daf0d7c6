// BoardStore: a c10d::Store for Gloo and NCCL that uses the board of an attempt, the key-value store through
// which ranks find each other. LibTorch's TCPStore is not used: its waits cannot be cancelled. TCPStore also
// looks up the host name of every connection, which takes seconds if no name server answers.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "agent/src/board/client.h"
#include "base/core/threads/mutex.h"

namespace ratoon {

// Any thread may use a BoardStore. While one thread waits for a reply in a BoardStore, calls of other threads
// wait, too, unless they use a clone(). Errors are thrown as c10::Error.
class BoardStore final : public c10d::Store {
 public:
  using Bytes = std::vector<std::uint8_t>;
  using Keys = std::vector<std::string>;
  using Milliseconds = std::chrono::milliseconds;

  BoardStore(board::Client::Plan plan, const Milliseconds& timeout)
      : Store(timeout), client_(std::move(plan)) {}

  // Needs no lock, because the plan of a client never changes.
  c10::intrusive_ptr<Store> clone() override RATOON_NOT_CHECKED_FOR_THREADS;

  using Store::set;
  void set(const std::string& key, const Bytes& value) override;
  Bytes get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const Keys& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const Keys& keys) override;
  void wait(const Keys& keys, const Milliseconds& timeout) override;

  bool hasExtendedApi() const override { return true; }
  void append(const std::string& key, const Bytes& value) override;
  std::vector<Bytes> multiGet(const Keys& keys) override;
  void multiSet(const Keys& keys, const std::vector<Bytes>& values) override;

 private:
  Keys ask(board::Op op, Keys words, const Milliseconds& timeout);
  std::int64_t request_number(board::Op op, Keys words);

  Mutex mutex_;
  board::Client client_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon
