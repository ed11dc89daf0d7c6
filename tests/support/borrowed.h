// A shared pointer to what a test owns itself, and outlives.
#pragma once

#include <memory>

namespace ratoon::test {

template <class T>
std::shared_ptr<T> borrowed(T& owned) {
  return {std::shared_ptr<void>(), &owned};
}

}  // namespace ratoon::test
