// Makes session.track() accept a std::unique_ptr or std::shared_ptr to an object that track() accepts, for an
// object that the program makes anew during the run, such as an optimizer for each epoch.
//
//   auto optimizer = std::make_unique<torch::optim::Adam>(net->parameters(), 1e-3);
//   session.track("optimizer", optimizer);
//   session.on_epoch_begin([&](std::uint64_t epoch) {
//     const double rate = 1e-3 / static_cast<double>(epoch + 1);
//     optimizer = std::make_unique<torch::optim::Adam>(net->parameters(), rate);
//   });
//
// Each save saves the object to which the pointer points at that time, under the names that the object itself
// would have. A resume restores the object that the training function made before steps(). Before steps(),
// make an object with the same shapes as the saved object, because a resume within an epoch does not call
// on_epoch_begin(). Make the objects of later epochs in on_epoch_begin(). The pointer must not be empty at
// track(), at a save or at a resume. A subclass of Stateful cannot be tracked by a pointer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ratoon/state.h>

namespace ratoon {

namespace pointers {

template <class T>
inline constexpr bool kIsOwner = false;
template <class T>
inline constexpr bool kIsOwner<std::unique_ptr<T>> = true;
template <class T>
inline constexpr bool kIsOwner<std::shared_ptr<T>> = true;

inline constexpr const char* kIsEmpty =
    "is an empty pointer: make the object before track() and before steps()";

// Throws a Failure if the pointer is empty.
void check_not_empty(bool is_empty, const std::string& name);

}  // namespace pointers

template <class Pointer>
  requires(pointers::kIsOwner<Pointer> && HasTrackAdapter<typename Pointer::element_type>)
struct TrackAdapter<Pointer> {
  using Object = typename Pointer::element_type;
  static constexpr bool kIsWeights = requires { requires TrackAdapter<Object>::kIsWeights; };

  static void check(Pointer& pointer, const std::string& name) {
    pointers::check_not_empty(pointer == nullptr, name);
    TrackAdapter<Object>::check(*pointer, name);
  }
  static void save(Pointer& pointer, StateWriter& out) {
    if (pointer == nullptr) out.refuse(pointers::kIsEmpty);
    TrackAdapter<Object>::save(*pointer, out);
  }
  static void load(Pointer& pointer, StateReader& in) {
    if (pointer == nullptr) in.refuse(pointers::kIsEmpty);
    TrackAdapter<Object>::load(*pointer, in);
  }
  static void seed(Pointer& pointer, std::uint64_t seed)
    requires requires(Object& object) { TrackAdapter<Object>::seed(object, seed); }
  {
    TrackAdapter<Object>::seed(*pointer, seed);
  }
};

}  // namespace ratoon
