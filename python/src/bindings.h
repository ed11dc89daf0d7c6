// The parts of the module ratoon._core; module.cpp puts them together.
#pragma once

#include <nanobind/nanobind.h>

namespace ratoon::python {

void bind_errors();
void bind_stream(nanobind::module_& module);
void bind_mds_dataset(nanobind::module_& module);
void bind_mds_writer(nanobind::module_& module);
void bind_atomic(nanobind::module_& module);
void bind_checkpoints(nanobind::module_& module);
void bind_checkpoint_parts(nanobind::module_& module);
void bind_session(nanobind::module_& module);
void bind_training(nanobind::module_& module);
void bind_board_store(nanobind::module_& module);

}  // namespace ratoon::python
