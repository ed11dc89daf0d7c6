// NeverDestroyed: a static object that is never destroyed. exit() destroys ordinary static objects while
// other threads still run and may use them.
//
//   const json& empty_list() {
//     static const NeverDestroyed<json> value(json::array());
//     return *value;
//   }
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace ratoon {

template <class T>
class NeverDestroyed {
 public:
  template <class... Arguments>
  explicit NeverDestroyed(Arguments&&... arguments)
      : value_(std::make_unique<T>(std::forward<Arguments>(arguments)...).release()) {}
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;

  [[nodiscard]] T& operator*() const { return *value_; }
  [[nodiscard]] T* operator->() const { return value_; }

 private:
  T* const value_;
};
static_assert(std::is_trivially_destructible_v<NeverDestroyed<std::unique_ptr<int>>>);

}  // namespace ratoon
