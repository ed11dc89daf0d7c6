#include <cstring>
#include <deque>
#include <optional>
#include <tuple>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <ratoon/torch/track.h>

#include "agent/src/torch/optimizer_fields.h"
#include "agent/src/torch/restore.h"

namespace ratoon {
namespace {

namespace optim = torch::optim;

template <class T>
constexpr at::ScalarType kTypeOf = std::is_same_v<T, bool>     ? at::kBool
                                   : std::is_same_v<T, double> ? at::kDouble
                                                               : at::kLong;
template <class T>
concept Number = std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>;

// Numbers are tensors without dimensions, texts are bytes; what is undefined or absent has no tensor.
struct Put {
  TensorsByName& tensors;
  std::string path;

  template <Number T>
  void operator()(const std::string& name, T value) const {
    tensors[path + name] = at::full({}, value, at::TensorOptions(kTypeOf<T>));
  }
  void operator()(const std::string& name, const at::Tensor& tensor) const {
    if (tensor.defined()) tensors[path + name] = tensor;
  }
  void operator()(const std::string& name, const std::tuple<double, double>& pair) const {
    (*this)(name + " 0", std::get<0>(pair));
    (*this)(name + " 1", std::get<1>(pair));
  }
  void operator()(const std::string& name, const std::string& text) const {
    at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::TensorOptions(at::kByte));
    std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
    tensors[path + name] = bytes;
  }
  template <class T>
  void operator()(const std::string& name, const std::optional<T>& value) const {
    if (value) (*this)(name, *value);
  }
  template <class List>
    requires(std::is_same_v<typename List::value_type, at::Tensor>)
  void operator()(const std::string& name, const List& list) const {
    (*this)(name + " count", static_cast<std::int64_t>(list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) (*this)(name + " " + std::to_string(i), list[i]);
  }
};

// The same walk the other way. What is taken leaves the map: the rest belongs to no field.
struct Take {
  TensorsByName& tensors;
  std::string object;
  std::string path;
  const at::Tensor* parameter = nullptr;  // that the tensors must be like, if they must

  at::Tensor find(const std::string& name) const {
    const auto found = tensors.extract(path + name);
    return found.empty() ? at::Tensor() : found.mapped();
  }
  template <Number T>
  void operator()(const std::string& name, T& value) const {
    const at::Tensor tensor = find(name);
    if (!tensor.defined() || tensor.numel() != 1 || tensor.scalar_type() != kTypeOf<T>)
      refuse_state(object, "the checkpoint has no number \"" + path + name + "\": it is of another program");
    value = tensor.item<T>();
  }
  void operator()(const std::string& name, at::Tensor& tensor) const {
    tensor = find(name);
    if (!tensor.defined() || parameter == nullptr) return;
    check_same_form(object, path + name, tensor, *parameter);
    tensor = tensor.to(parameter->device());
  }
  void operator()(const std::string& name, std::tuple<double, double>& pair) const {
    (*this)(name + " 0", std::get<0>(pair));
    (*this)(name + " 1", std::get<1>(pair));
  }
  void operator()(const std::string& name, std::string& text) const {
    const at::Tensor bytes = find(name);
    text.assign(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes());
  }
  template <class T>
  void operator()(const std::string& name, std::optional<T>& value) const {
    value.reset();
    if (tensors.contains(path + name) || tensors.contains(path + name + " count"))
      (*this)(name, value.emplace());
  }
  template <class List>
    requires(std::is_same_v<typename List::value_type, at::Tensor>)
  void operator()(const std::string& name, List& list) const {
    std::int64_t count = 0;
    (*this)(name + " count", count);
    list.clear();
    for (std::int64_t i = 0; i < count; ++i) list.push_back(find(name + " " + std::to_string(i)));
  }
};

std::string group_path(std::size_t group) {
  return "group " + std::to_string(group) + " ";
}
std::string parameter_path(std::size_t group, std::size_t index) {
  return "parameter " + std::to_string(group) + "." + std::to_string(index) + " ";
}

template <class Options, class State>
struct Kind {
  static TensorsByName save(optim::Optimizer& optimizer) {
    TensorsByName tensors;
    auto& groups = optimizer.param_groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Put put{tensors, group_path(g)};
      put("size", static_cast<std::int64_t>(groups[g].params().size()));
      visit_fields(static_cast<Options&>(groups[g].options()), put);
      for (std::size_t i = 0; i < groups[g].params().size(); ++i) {
        const auto found = optimizer.state().find(groups[g].params()[i].unsafeGetTensorImpl());
        if (found == optimizer.state().end()) continue;  // had no gradient yet
        visit_fields(static_cast<State&>(*found->second), Put{tensors, parameter_path(g, i)});
      }
    }
    return tensors;
  }

  static void load(optim::Optimizer& optimizer, const std::string& name, TensorsByName tensors) {
    auto& groups = optimizer.param_groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      auto& params = groups[g].params();
      const Take take{tensors, name, group_path(g)};
      std::int64_t size = 0;
      take("size", size);
      if (size != static_cast<std::int64_t>(params.size())) {
        refuse_state(name, "group " + std::to_string(g) + " has " + std::to_string(size) +
                               " parameters in the checkpoint and " + std::to_string(params.size()) +
                               " in the program: it is of another model");
      }
      visit_fields(static_cast<Options&>(groups[g].options()), take);
      for (std::size_t i = 0; i < params.size(); ++i) load_one(optimizer, name, tensors, g, i);
    }
    if (!tensors.empty()) {
      refuse_state(name, "the program has no place for \"" + tensors.begin()->first +
                             "\", which the checkpoint has: it is of another model");
    }
  }

  static void load_one(optim::Optimizer& optimizer, const std::string& name, TensorsByName& tensors,
                       std::size_t group, std::size_t index) {
    const at::Tensor& parameter = optimizer.param_groups()[group].params()[index];
    void* const key = parameter.unsafeGetTensorImpl();
    const std::string path = parameter_path(group, index);
    const auto first = tensors.lower_bound(path);
    if (first == tensors.end() || !first->first.starts_with(path)) {
      optimizer.state().erase(key);
      return;
    }
    auto state = std::make_unique<State>();
    // LBFGS keeps long vectors over all parameters at once.
    constexpr bool kIsLikeParameter = !std::is_same_v<State, optim::LBFGSParamState>;
    visit_fields(*state, Take{tensors, name, path, kIsLikeParameter ? &parameter : nullptr});
    optimizer.state()[key] = std::move(state);
  }
};

// Calls `then` with the Kind of the optimizer and its name.
template <class F>
auto with_kind(optim::Optimizer& optimizer, const std::string& name, F&& then) {
  if (dynamic_cast<optim::AdamW*>(&optimizer))
    return then(Kind<optim::AdamWOptions, optim::AdamWParamState>(), "AdamW");
  if (dynamic_cast<optim::Adam*>(&optimizer))
    return then(Kind<optim::AdamOptions, optim::AdamParamState>(), "Adam");
  if (dynamic_cast<optim::SGD*>(&optimizer))
    return then(Kind<optim::SGDOptions, optim::SGDParamState>(), "SGD");
  if (dynamic_cast<optim::Adagrad*>(&optimizer))
    return then(Kind<optim::AdagradOptions, optim::AdagradParamState>(), "Adagrad");
  if (dynamic_cast<optim::RMSprop*>(&optimizer))
    return then(Kind<optim::RMSpropOptions, optim::RMSpropParamState>(), "RMSprop");
  if (dynamic_cast<optim::LBFGS*>(&optimizer))
    return then(Kind<optim::LBFGSOptions, optim::LBFGSParamState>(), "LBFGS");
  refuse_state(name, "it is an optimizer that is not LibTorch's own: specialise ratoon::TrackAdapter for it");
}

}  // namespace

void check_optimizer(optim::Optimizer& optimizer, const std::string& name) {
  with_kind(optimizer, name, [](auto, const char*) {});
}

std::string save_optimizer(optim::Optimizer& optimizer, const std::string& name) {
  return with_kind(optimizer, name, [&](auto kind, const char* word) {
    return save_archive(name, {.kind = word, .tensors = kind.save(optimizer)});
  });
}

void load_optimizer(optim::Optimizer& optimizer, const std::string& name, std::string_view state) {
  with_kind(optimizer, name,
            [&](auto kind, const char* word) { kind.load(optimizer, name, read_state(name, word, state)); });
}

}  // namespace ratoon
