// Objects that belong to the process that made them. A forked child has their memory, but none of their
// threads, and what they would remove or close at their end is still the parent's.
//
//   Owned<MdsWriter> writer(std::make_unique<MdsWriter>(...), "an MdsWriter");
//   writer->write(sample);  // a RatoonError in a forked child
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace ratoon::python {

void count_forks();  // once, before the first fork
// Between this process and the one that imported the module.
[[nodiscard]] std::uint64_t forks();

[[noreturn]] void refuse_in_child(const std::string& what);

template <class T>
class Owned {
 public:
  Owned(std::unique_ptr<T> object, std::string what) : object_(std::move(object)), what_(std::move(what)) {}
  Owned(Owned&&) noexcept = default;
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (forks_ != forks()) static_cast<void>(object_.release());  // its end is the parent's affair
  }

  T* operator->() const {
    if (forks_ != forks()) refuse_in_child(what_);
    return object_.get();
  }
  [[nodiscard]] bool is_here() const { return object_ != nullptr; }
  // Ends it; in a forked child it is forgotten.
  void reset() {
    if (forks_ != forks())
      static_cast<void>(object_.release());
    else
      object_.reset();
  }

 private:
  std::unique_ptr<T> object_;
  std::string what_;
  std::uint64_t forks_ = forks();
};

}  // namespace ratoon::python
