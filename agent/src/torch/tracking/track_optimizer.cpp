#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <typeinfo>

#include <ATen/ops/empty_like.h>

#include <ratoon/failure.h>
#include <ratoon/torch/track.h>

#include "agent/src/torch/tracking/optimizer_fields.h"
#include "agent/src/torch/tracking/stored_tensor.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

namespace optim = ::torch::optim;

template <class T>
concept Number = std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>;

// All properties that the program and the checkpoint must share are saved as names, types and shapes of
// tensors, which are compared before any bytes are read. The kind of the optimizer is saved as the name of an
// empty tensor, and the size of a parameter group as the shape of a tensor.
std::string kind_name(const char* kind) {
  return std::string("kind.") + kind;
}

// FieldWriter saves the values of an optimizer's fields, except undefined tensors and empty optional values.
struct FieldWriter {
  StateWriter& out;
  std::string path;

  template <Number T>
  void operator()(const std::string& name, T value) const {
    out.number(path + name, value);
  }
  void operator()(const std::string& name, const at::Tensor& tensor) const {
    if (tensor.defined()) write_tensor(out, path + name, tensor);
  }
  void operator()(const std::string& name, const std::tuple<double, double>& pair) const {
    (*this)(name + ".0", std::get<0>(pair));
    (*this)(name + ".1", std::get<1>(pair));
  }
  void operator()(const std::string& name, const std::string& text) const { out.bytes(path + name, text); }
  template <class T>
  void operator()(const std::string& name, const std::optional<T>& value) const {
    if (value) (*this)(name, *value);
  }
  // For a list, saves one byte for each element: 1 if the element is defined, otherwise 0.
  template <class List>
    requires(std::is_same_v<typename List::value_type, at::Tensor>)
  void operator()(const std::string& name, const List& list) const {
    std::string defined;
    for (const at::Tensor& tensor : list) defined += tensor.defined() ? '\1' : '\0';
    out.bytes(path + name, defined);
    for (std::size_t i = 0; i < list.size(); ++i) (*this)(name + "." + std::to_string(i), list[i]);
  }
};

// FieldReader reads the values that FieldWriter has saved, into a new object. When all are read, this new
// object replaces the optimizer's old object. FieldReader removes each name that it has read from the set
// `left`. The names that remain in `left` belong to no field of the optimizer.
struct FieldReader {
  StateReader& in;
  std::set<std::string>& left;
  std::string path;
  const at::Tensor* parameter = nullptr;  // the tensors must have its type and shape; null: no requirement
  at::Device device{at::kCPU};            // of tensors that are not like the parameter

  bool has(const std::string& name) const { return in.find(path + name).has_value(); }
  std::string taken(const std::string& name) const {
    left.erase(path + name);
    return path + name;
  }
  template <Number T>
  void operator()(const std::string& name, T& value) const {
    in.number(taken(name), value);
  }
  void operator()(const std::string& name, at::Tensor& tensor) const {
    tensor = at::Tensor();
    if (!has(name)) return;
    tensor = parameter != nullptr ? at::empty_like(*parameter, at::MemoryFormat::Contiguous)
                                  : empty_like_stored(in, path + name, device);
    request_tensor(in, taken(name), tensor);
  }
  void operator()(const std::string& name, std::tuple<double, double>& pair) const {
    (*this)(name + ".0", std::get<0>(pair));
    (*this)(name + ".1", std::get<1>(pair));
  }
  void operator()(const std::string& name, std::string& text) const {
    in.bytes(taken(name), [&text](std::string stored) { text = std::move(stored); });
  }
  template <class T>
  void operator()(const std::string& name, std::optional<T>& value) const {
    value.reset();
    if (has(name)) (*this)(name, value.emplace());
  }
  template <class List>
    requires(std::is_same_v<typename List::value_type, at::Tensor>)
  void operator()(const std::string& name, List& list) const {
    const auto form = in.find(path + name);
    const std::size_t count = form && form->shape.size() == 1 ? form->shape.front() : 0;
    in.bytes(taken(name), [](const std::string&) {});
    list.clear();
    list.resize(count);
    for (std::size_t i = 0; i < count; ++i) (*this)(name + "." + std::to_string(i), list[i]);
  }
};

std::string group_path(std::size_t group) {
  return "param_groups." + std::to_string(group) + ".";
}
std::string state_path(std::int64_t number) {
  return "state." + std::to_string(number) + ".";
}

std::string describe_parameter(const at::Tensor& parameter, std::size_t group, std::int64_t number) {
  std::string shape;
  for (const std::int64_t size : parameter.sizes())
    shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  return "parameter " + std::to_string(number) + " (group " + std::to_string(group) + ", shape [" + shape +
         "])";
}

// The names and numbers of parameters are those of PyTorch's state_dict(), which numbers the parameters of
// all groups consecutively.
template <class Options, class State>
struct OptimizerKind {
  static void save(optim::Optimizer& optimizer, StateWriter& out) {
    std::int64_t number = 0;
    auto& groups = optimizer.param_groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<std::int64_t> numbers;
      for (const at::Tensor& parameter : groups[g].params()) {
        const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
        if (found != optimizer.state().end())  // otherwise it had no gradient yet
          visit_fields(static_cast<State&>(*found->second), FieldWriter{out, state_path(number)});
        if (const auto memory = memory_of(parameter); memory.bytes != 0)
          out.changes(describe_parameter(parameter, g, number), memory);
        numbers.push_back(number++);
      }
      auto owner = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
      out.tensor({.name = group_path(g) + "params",
                  .type = ElementType::kInt64,
                  .shape = {owner->size()},
                  .bytes = std::as_bytes(std::span(*owner))},
                 owner);
      visit_fields(static_cast<Options&>(groups[g].options()), FieldWriter{out, group_path(g)});
    }
  }

  static void load(optim::Optimizer& optimizer, StateReader& in, std::set<std::string> left) {
    std::int64_t number = 0;
    auto& groups = optimizer.param_groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      check_size(in, g, groups[g].params().size());
      left.erase(group_path(g) + "params");
      auto options = std::make_shared<Options>(static_cast<Options&>(groups[g].options()));
      visit_fields(*options, FieldReader{in, left, group_path(g)});
      in.at_end([&optimizer, g, options] {
        static_cast<Options&>(optimizer.param_groups()[g].options()) = *options;
      });
      for (const at::Tensor& parameter : groups[g].params())
        load_one(optimizer, in, left, parameter, state_path(number++));
    }
    if (!left.empty()) {
      in.refuse("the program's optimizer has no \"" + *left.begin() +
                "\", which the checkpoint has: the checkpoint is of another model, or add_param_group() was "
                "called in the loop; if session.resumes_at() is after that step, call it before steps()");
    }
  }

  static void check_size(StateReader& in, std::size_t group, std::size_t size) {
    const auto form = in.find(group_path(group) + "params");
    const std::uint64_t saved = form && form->shape.size() == 1 ? form->shape.front() : 0;
    if (form && saved == size) return;
    in.refuse("group " + std::to_string(group) + " has " + std::to_string(saved) +
              " parameters in the checkpoint and " + std::to_string(size) +
              " in the program: the checkpoint is of another model");
  }

  static void load_one(optim::Optimizer& optimizer, StateReader& in, std::set<std::string>& left,
                       const at::Tensor& parameter, const std::string& path) {
    void* const key = parameter.unsafeGetTensorImpl();
    const auto first = left.lower_bound(path);
    if (first == left.end() || !first->starts_with(path)) {
      in.at_end([&optimizer, key] { optimizer.state().erase(key); });
      return;
    }
    auto state = std::make_shared<std::unique_ptr<State>>(std::make_unique<State>());
    // LBFGS has no separate state for each parameter, but long vectors for all parameters together.
    constexpr bool kIsLikeParameter = !std::is_same_v<State, optim::LBFGSParamState>;
    visit_fields(**state,
                 FieldReader{in, left, path, kIsLikeParameter ? &parameter : nullptr, parameter.device()});
    in.at_end([&optimizer, key, state] { optimizer.state()[key] = std::move(*state); });
  }
};

// Checks that the kind of the optimizer in the checkpoint is that of the program, and removes the name of the
// kind from `left`.
void check_kind(StateReader& in, std::set<std::string>& left, const char* word) {
  const std::string start = kind_name("");
  const auto kind = left.lower_bound(start);
  if (kind == left.end() || !kind->starts_with(start)) {
    in.bytes(kind_name(word), [](const std::string&) {});  // refuses with the missing name
    return;
  }
  const std::string saved = kind->substr(start.size());
  left.erase(kind);
  if (saved == word) return;
  in.refuse("the checkpoint has the state of a " + saved + ", but the program tracks a " + word +
            " under this name: the checkpoint is of another program");
}

// Finds the type of the optimizer, and calls `then` with this type and its name. A class that is derived from
// an optimizer of LibTorch is refused, because it may have additional state that FieldWriter does not save.
template <class Refuse, class F>
void call_with_optimizer_kind(optim::Optimizer& optimizer, Refuse&& refuse, F&& then) {
  const auto is = [&kind = typeid(optimizer)](const std::type_info& of) { return kind == of; };
  if (is(typeid(optim::AdamW)))
    return then(OptimizerKind<optim::AdamWOptions, optim::AdamWParamState>(), "AdamW");
  if (is(typeid(optim::Adam)))
    return then(OptimizerKind<optim::AdamOptions, optim::AdamParamState>(), "Adam");
  if (is(typeid(optim::SGD))) return then(OptimizerKind<optim::SGDOptions, optim::SGDParamState>(), "SGD");
  if (is(typeid(optim::Adagrad)))
    return then(OptimizerKind<optim::AdagradOptions, optim::AdagradParamState>(), "Adagrad");
  if (is(typeid(optim::RMSprop)))
    return then(OptimizerKind<optim::RMSpropOptions, optim::RMSpropParamState>(), "RMSprop");
  if (is(typeid(optim::LBFGS)))
    return then(OptimizerKind<optim::LBFGSOptions, optim::LBFGSParamState>(), "LBFGS");
  refuse(
      "the optimizer is not one of LibTorch's own (Adam, AdamW, SGD, Adagrad, RMSprop, LBFGS), and the state "
      "of a derived class is not known: specialise ratoon::TrackAdapter for its type");
}

}  // namespace

void check_optimizer(optim::Optimizer& optimizer, const std::string& name) {
  call_with_optimizer_kind(
      optimizer,
      [&](const std::string& why) {
        throw Failure(static_cast<int>(ExitCode::kConfiguration), "tracked '" + name + "': " + why);
      },
      [](auto, const char*) {});
}

void save_optimizer(optim::Optimizer& optimizer, StateWriter& out) {
  call_with_optimizer_kind(
      optimizer, [&](const std::string& why) { out.refuse(why); },
      [&](auto kind, const char* word) {
        out.bytes(kind_name(word), "");
        kind.save(optimizer, out);
      });
}

void load_optimizer(optim::Optimizer& optimizer, StateReader& in) {
  call_with_optimizer_kind(
      optimizer, [&](const std::string& why) { in.refuse(why); },
      [&](auto kind, const char* word) {
        const auto names = in.names();
        std::set<std::string> left(names.begin(), names.end());
        check_kind(in, left, word);
        kind.load(optimizer, in, std::move(left));
      });
}

}  // namespace ratoon
