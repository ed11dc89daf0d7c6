// Makes session.track() accept texts, enums, and std::optional, pair, tuple, array, vector, deque, list, set
// and map, also nested in each other. A container may have a different size at each save.
//
//   std::vector<std::pair<std::string, double>> best;
//   std::map<std::uint64_t, std::deque<float>> recent;
//   session.track("best", best);
//   session.track("recent", recent);
//
// Numbers are saved as tensors that any reader of safetensors can show. A vector of numbers is saved as one
// tensor, such as "recent". A container of containers is saved as several tensors, such as "recent.sizes" and
// "recent.items.first". Unordered containers cannot be tracked, because a restored container would iterate in
// another order: use std::map and std::set.
//
// A resume replaces the elements, so iterators and pointers into a container become invalid. A vector of
// numbers keeps its memory if the saved and the current size are the same.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ratoon/element_type.h>
#include <ratoon/state.h>

namespace ratoon {

namespace values {

// Saves and loads many values of one type together, as tensors whose names begin with `name`.
// load() requests the tensors and returns a function, which returns the values after all tensors
// are read.
template <class T>
struct Column;

template <class T>
concept Number = (std::is_arithmetic_v<T> || std::is_enum_v<T>) && !std::same_as<T, long double>;

template <class T>
concept Value = requires { typename Column<T>::Loaded; };

template <class T>
using Loaded = typename Column<T>::Loaded;
template <class T>
using Pointers = std::vector<const T*>;
template <class T>
using Loading = std::function<std::vector<Loaded<T>>()>;

inline std::string below(const std::string& name, const std::string& part) {
  return name.empty() ? part : name + "." + part;
}

// Returns a list of numbers as a tensor of one dimension.
inline TensorView list_view(std::string name, ElementType type, std::span<const std::byte> bytes,
                            std::size_t count) {
  TensorView view;
  view.name = std::move(name);
  view.type = type;
  view.shape = {count};
  view.bytes = bytes;
  return view;
}
inline WantedTensor wanted_list(std::string name, ElementType type, std::size_t count) {
  WantedTensor wanted;
  wanted.name = std::move(name);
  wanted.type = type;
  wanted.shape = {count};
  return wanted;
}

inline void check_sizes(const StateReader& in, bool fits) {
  if (!fits) in.refuse("the sizes of the containers in the checkpoint do not match their saved elements");
}

template <Number T>
struct Column<T> {
  using Loaded = T;
  static auto stored_of_type() {
    if constexpr (std::is_enum_v<T>)
      return std::underlying_type_t<T>{};
    else
      return T{};
  }
  using Value = decltype(stored_of_type());
  static_assert(sizeof(bool) == 1);
  using Memory = std::conditional_t<std::same_as<Value, bool>, std::uint8_t, Value>;

  static void save(const Pointers<T>& items, const std::string& name, StateWriter& out) {
    auto memory = std::make_shared<std::vector<Memory>>();
    memory->reserve(items.size());
    for (const T* item : items) memory->push_back(static_cast<Memory>(*item));
    const auto bytes = std::as_bytes(std::span(*memory));
    out.tensor(list_view(name, stored_type_of<Value>(), bytes, memory->size()), memory);
  }

  static std::function<std::vector<T>()> load(const std::string& name, StateReader& in) {
    const auto form = in.find(name);
    const std::uint64_t size = form && form->shape.size() == 1 ? form->shape[0] : 0;
    auto memory = std::make_shared<std::vector<Memory>>(size);
    in.tensor(wanted_list(name, stored_type_of<Value>(), size), std::as_writable_bytes(std::span(*memory)));
    return [memory] {
      std::vector<T> items;
      items.reserve(memory->size());
      for (const Memory one : *memory) items.push_back(static_cast<T>(one));
      return items;
    };
  }
};

// Saves and loads the sizes of several values as one tensor.
struct Sizes {
  static void save(const std::vector<std::uint64_t>& sizes, const std::string& name, StateWriter& out) {
    Pointers<std::uint64_t> items;
    for (const std::uint64_t& size : sizes) items.push_back(&size);
    Column<std::uint64_t>::save(items, below(name, "sizes"), out);
  }
  static auto load(const std::string& name, StateReader& in) {
    return Column<std::uint64_t>::load(below(name, "sizes"), in);
  }
};

template <>
struct Column<std::string> {
  using Loaded = std::string;
  static void save(const Pointers<std::string>& items, const std::string& name, StateWriter& out) {
    std::vector<std::uint64_t> sizes;
    std::string text;
    for (const std::string* item : items) {
      sizes.push_back(item->size());
      text += *item;
    }
    Sizes::save(sizes, name, out);
    out.bytes(below(name, "text"), std::move(text));
  }
  static std::function<std::vector<std::string>()> load(const std::string& name, StateReader& in) {
    const auto sizes = Sizes::load(name, in);
    auto text = std::make_shared<std::string>();
    in.bytes(below(name, "text"), [text](std::string read) { *text = std::move(read); });
    return [sizes, text, &in] {
      std::vector<std::string> items;
      std::size_t at = 0;
      for (const std::uint64_t size : sizes()) {
        check_sizes(in, size <= text->size() - at);
        items.push_back(text->substr(at, size));
        at += size;
      }
      return items;
    };
  }
};

// Comparators with a state, such as a function pointer, are refused, because checkpoints do not contain the
// state.
template <class Compare>
inline constexpr bool kHasNoState = std::is_empty_v<Compare> && std::default_initializable<Compare>;

template <class T>
inline constexpr bool kIsRange = false;
template <class T>
inline constexpr bool kIsRange<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsRange<std::deque<T>> = true;
template <class T>
inline constexpr bool kIsRange<std::list<T>> = true;
template <class T, class Compare>
inline constexpr bool kIsRange<std::set<T, Compare>> = kHasNoState<Compare>;
template <class T, class Compare>
inline constexpr bool kIsRange<std::multiset<T, Compare>> = kHasNoState<Compare>;
template <class K, class T, class Compare>
inline constexpr bool kIsRange<std::map<K, T, Compare>> = kHasNoState<Compare>;
template <class K, class T, class Compare>
inline constexpr bool kIsRange<std::multimap<K, T, Compare>> = kHasNoState<Compare>;

template <class Range>
  requires(kIsRange<Range> && Value<typename Range::value_type>)
struct Column<Range> {
  using Loaded = Range;
  using Item = typename Range::value_type;

  static void save(const Pointers<Range>& ranges, const std::string& name, StateWriter& out) {
    std::vector<std::uint64_t> sizes;
    Pointers<Item> items;
    for (const Range* range : ranges) {
      sizes.push_back(range->size());
      for (const auto& item : *range) items.push_back(&item);
    }
    Sizes::save(sizes, name, out);
    Column<Item>::save(items, below(name, "items"), out);
  }
  static std::function<std::vector<Range>()> load(const std::string& name, StateReader& in) {
    return [sizes = Sizes::load(name, in), read = Column<Item>::load(below(name, "items"), in), &in] {
      auto items = read();
      std::vector<Range> ranges;
      std::size_t at = 0;
      for (const std::uint64_t size : sizes()) {
        check_sizes(in, size <= items.size() - at);
        Range& range = ranges.emplace_back();
        for (std::uint64_t i = 0; i < size; ++i) range.insert(range.end(), std::move(items[at++]));
      }
      return ranges;
    };
  }
};

// The elements of std::vector<bool> have no addresses, so they are copied to a std::deque<bool>.
template <>
struct Column<std::vector<bool>> {
  using Loaded = std::vector<bool>;
  static void save(const Pointers<std::vector<bool>>& ranges, const std::string& name, StateWriter& out) {
    std::vector<std::deque<bool>> copies;
    for (const auto* range : ranges) copies.emplace_back(range->begin(), range->end());
    Pointers<std::deque<bool>> items;
    for (const auto& copy : copies) items.push_back(&copy);
    Column<std::deque<bool>>::save(items, name, out);
  }
  static std::function<std::vector<std::vector<bool>>()> load(const std::string& name, StateReader& in) {
    return [read = Column<std::deque<bool>>::load(name, in)] {
      std::vector<std::vector<bool>> ranges;
      for (const auto& range : read()) ranges.emplace_back(range.begin(), range.end());
      return ranges;
    };
  }
};

template <Value T>
struct Column<std::optional<T>> {
  using Loaded = std::optional<T>;
  static void save(const Pointers<std::optional<T>>& all, const std::string& name, StateWriter& out) {
    std::vector<std::uint64_t> sizes;
    Pointers<T> items;
    for (const auto* one : all) {
      sizes.push_back(one->has_value() ? 1 : 0);
      if (one->has_value()) items.push_back(&**one);
    }
    Sizes::save(sizes, name, out);
    Column<T>::save(items, below(name, "items"), out);
  }
  static std::function<std::vector<std::optional<T>>()> load(const std::string& name, StateReader& in) {
    return [sizes = Sizes::load(name, in), read = Column<T>::load(below(name, "items"), in), &in] {
      auto items = read();
      std::vector<std::optional<T>> all;
      std::size_t at = 0;
      for (const std::uint64_t size : sizes()) {
        check_sizes(in, size <= 1 && size <= items.size() - at);
        if (size == 1)
          all.emplace_back(std::move(items[at++]));
        else
          all.emplace_back();
      }
      return all;
    };
  }
};

template <Value T, std::size_t N>
  requires(N > 0)
struct Column<std::array<T, N>> {
  using Loaded = std::array<T, N>;
  static void save(const Pointers<std::array<T, N>>& all, const std::string& name, StateWriter& out) {
    Pointers<T> items;
    for (const auto* one : all)
      for (const T& item : *one) items.push_back(&item);
    Column<T>::save(items, below(name, "items"), out);
  }
  static std::function<std::vector<std::array<T, N>>()> load(const std::string& name, StateReader& in) {
    return [read = Column<T>::load(below(name, "items"), in), &in] {
      auto items = read();
      check_sizes(in, items.size() % N == 0);
      std::vector<std::array<T, N>> all(items.size() / N);
      for (std::size_t i = 0; i < items.size(); ++i) all[i / N][i % N] = std::move(items[i]);
      return all;
    };
  }
};

template <class Tuple, class... T>
struct TupleColumn {
  using Loaded = Tuple;

  template <class Of>
  static void save(const std::vector<const Of*>& all, const std::string& name, StateWriter& out) {
    save_each(all, name, out, std::index_sequence_for<T...>());
  }
  static std::function<std::vector<Tuple>()> load(const std::string& name, StateReader& in) {
    return load_each(name, in, std::index_sequence_for<T...>());
  }

 private:
  template <class Of, std::size_t... I>
  static void save_each(const std::vector<const Of*>& all, const std::string& name, StateWriter& out,
                        std::index_sequence<I...>) {
    const auto save_one = [&]<std::size_t At>(std::integral_constant<std::size_t, At>) {
      using Item = std::tuple_element_t<At, std::tuple<T...>>;
      Pointers<Item> items;
      for (const Of* one : all) items.push_back(&std::get<At>(*one));
      Column<Item>::save(items, below(name, std::to_string(At)), out);
    };
    (save_one(std::integral_constant<std::size_t, I>()), ...);
  }
  template <std::size_t... I>
  static std::function<std::vector<Tuple>()> load_each(const std::string& name, StateReader& in,
                                                       std::index_sequence<I...>) {
    // In braces, C++ evaluates the arguments from left to right, so load() requests the tensors in the order
    // in which save() wrote them.
    auto columns = std::tuple{Column<T>::load(below(name, std::to_string(I)), in)...};
    return [columns = std::move(columns), &in] {
      auto items = std::tuple{std::get<I>(columns)()...};
      const std::size_t size = std::get<0>(items).size();
      check_sizes(in, ((std::get<I>(items).size() == size) && ...));
      std::vector<Tuple> all;
      all.reserve(size);
      for (std::size_t i = 0; i < size; ++i) all.emplace_back(std::move(std::get<I>(items)[i])...);
      return all;
    };
  }
};

template <class A, class B>
  requires(Value<std::remove_const_t<A>> && Value<B>)
struct Column<std::pair<A, B>>
    : TupleColumn<std::pair<std::remove_const_t<A>, B>, std::remove_const_t<A>, B> {};

template <Value... T>
  requires(sizeof...(T) > 0)
struct Column<std::tuple<T...>> : TupleColumn<std::tuple<T...>, T...> {};

template <class T>
concept Numbers = std::ranges::contiguous_range<T> && std::is_arithmetic_v<std::ranges::range_value_t<T>> &&
                  Number<std::ranges::range_value_t<T>> && !std::same_as<T, std::string>;

}  // namespace values

// Plain numbers need no TrackAdapter, because Session::track() handles them.
template <class T>
  requires(values::Value<T> && !std::is_arithmetic_v<T>)
struct TrackAdapter<T> {
  static void check(T&, const std::string&) {}

  static void save(T& value, StateWriter& out) {
    if constexpr (std::same_as<T, std::string>) {
      out.bytes("", value);
    } else if constexpr (values::Numbers<T>) {
      using Item = std::ranges::range_value_t<T>;
      out.tensor(values::list_view("", stored_type_of<Item>(), std::as_bytes(std::span(value)),
                                   std::ranges::size(value)));
    } else {
      values::Column<T>::save(values::Pointers<T>{&value}, "", out);
    }
  }

  // The program's container changes only after all its tensors were found and read.
  static void load(T& value, StateReader& in) {
    if constexpr (std::same_as<T, std::string>) {
      in.bytes("", [&value](std::string text) { value = std::move(text); });
    } else if constexpr (values::Numbers<T>) {
      using Item = std::ranges::range_value_t<T>;
      auto read = std::make_shared<T>();
      if constexpr (requires { read->resize(0); }) {
        const auto form = in.find("");
        read->resize(form && form->shape.size() == 1 ? form->shape[0] : 0);
      }
      in.tensor(values::wanted_list("", stored_type_of<Item>(), std::ranges::size(*read)),
                std::as_writable_bytes(std::span(*read)));
      in.at_end([&value, read] {
        // If the saved and the current size are the same, pointers into the vector stay valid.
        if (std::ranges::size(value) == std::ranges::size(*read))
          std::ranges::copy(*read, std::ranges::begin(value));
        else
          value = std::move(*read);
      });
    } else {
      in.at_end([&value, &in, read = values::Column<T>::load("", in)] {
        auto all = read();
        values::check_sizes(in, all.size() == 1);
        value = std::move(all.front());
      });
    }
  }
};

}  // namespace ratoon
