// Lists the options and the state fields of LibTorch's optimizers. An overload of visit_fields() takes either
// the options of one kind of optimizer or its state for one parameter. It calls the function `each` with the
// name of every field and a reference to the field.
#pragma once

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

namespace ratoon {

// Adam and AdamW have options and state fields of the same names.
template <class O>
concept OptionsOfAdams =
    std::is_same_v<O, ::torch::optim::AdamOptions> || std::is_same_v<O, ::torch::optim::AdamWOptions>;
template <class S>
concept StateOfAdams =
    std::is_same_v<S, ::torch::optim::AdamParamState> || std::is_same_v<S, ::torch::optim::AdamWParamState>;

template <OptionsOfAdams O, class F>
void visit_fields(O& options, F&& each) {
  each("lr", options.lr());
  each("betas", options.betas());
  each("eps", options.eps());
  each("weight_decay", options.weight_decay());
  each("amsgrad", options.amsgrad());
}
template <StateOfAdams S, class F>
void visit_fields(S& state, F&& each) {
  each("step", state.step());
  each("exp_avg", state.exp_avg());
  each("exp_avg_sq", state.exp_avg_sq());
  each("max_exp_avg_sq", state.max_exp_avg_sq());
}

template <class F>
void visit_fields(::torch::optim::SGDOptions& options, F&& each) {
  each("lr", options.lr());
  each("momentum", options.momentum());
  each("dampening", options.dampening());
  each("weight_decay", options.weight_decay());
  each("nesterov", options.nesterov());
}
template <class F>
void visit_fields(::torch::optim::SGDParamState& state, F&& each) {
  each("momentum_buffer", state.momentum_buffer());
}

template <class F>
void visit_fields(::torch::optim::AdagradOptions& options, F&& each) {
  each("lr", options.lr());
  each("lr_decay", options.lr_decay());
  each("weight_decay", options.weight_decay());
  each("initial_accumulator_value", options.initial_accumulator_value());
  each("eps", options.eps());
}
template <class F>
void visit_fields(::torch::optim::AdagradParamState& state, F&& each) {
  each("sum", state.sum());
  each("step", state.step());
}

template <class F>
void visit_fields(::torch::optim::RMSpropOptions& options, F&& each) {
  each("lr", options.lr());
  each("alpha", options.alpha());
  each("eps", options.eps());
  each("weight_decay", options.weight_decay());
  each("momentum", options.momentum());
  each("centered", options.centered());
}
template <class F>
void visit_fields(::torch::optim::RMSpropParamState& state, F&& each) {
  each("step", state.step());
  each("square_avg", state.square_avg());
  each("momentum_buffer", state.momentum_buffer());
  each("grad_avg", state.grad_avg());
}

template <class F>
void visit_fields(::torch::optim::LBFGSOptions& options, F&& each) {
  each("lr", options.lr());
  each("max_iter", options.max_iter());
  each("max_eval", options.max_eval());
  each("tolerance_grad", options.tolerance_grad());
  each("tolerance_change", options.tolerance_change());
  each("history_size", options.history_size());
  each("line_search_fn", options.line_search_fn());
}
template <class F>
void visit_fields(::torch::optim::LBFGSParamState& state, F&& each) {
  each("func_evals", state.func_evals());
  each("n_iter", state.n_iter());
  each("t", state.t());
  each("prev_loss", state.prev_loss());
  each("d", state.d());
  each("H_diag", state.H_diag());
  each("prev_flat_grad", state.prev_flat_grad());
  each("old_dirs", state.old_dirs());
  each("old_stps", state.old_stps());
  each("ro", state.ro());
  each("al", state.al());
}

}  // namespace ratoon
