#include <nanobind/nanobind.h>

#include <ratoon/version.h>

#include "python/src/bindings.h"
#include "python/src/forks.h"

NB_MODULE(_core, module) {
  module.doc() = "The compiled part of the package ratoon. Use the names of the package.";
  module.attr("version") = ratoon::version();
  nanobind::set_leak_warnings(false);  // what is alive when a process ends is its user's affair
  ratoon::python::count_forks();
  ratoon::python::bind_errors();
  ratoon::python::bind_stream(module);
  ratoon::python::bind_mds_dataset(module);
  ratoon::python::bind_mds_writer(module);
  ratoon::python::bind_atomic(module);
  ratoon::python::bind_checkpoints(module);
  ratoon::python::bind_checkpoint_parts(module);
  ratoon::python::bind_board_store(module);
  ratoon::python::bind_session(module);
  ratoon::python::bind_training(module);
}
