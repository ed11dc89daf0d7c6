// A shared pointer to an object that a test owns itself, and that the pointer does not outlive.
#pragma once

#include <memory>

namespace ratoon::test {

template <class T>
std::shared_ptr<T> borrowed(T& owned) {
  return {std::shared_ptr<void>(), &owned};
}

}  // namespace ratoon::test
