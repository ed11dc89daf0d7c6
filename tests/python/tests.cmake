# The package ratoon for Python, imported from the build tree.
set(package ENVIRONMENT PYTHONPATH=${PROJECT_BINARY_DIR}/python)
ratoon_python_test(python/stream_test INTERPRETER ${Python_EXECUTABLE} ${package})
ratoon_python_test(python/mds_test INTERPRETER ${Python_EXECUTABLE} ${package})
ratoon_python_test(python/atomic_test INTERPRETER ${Python_EXECUTABLE} ${package})
ratoon_python_test(python/session_test INTERPRETER ${Python_EXECUTABLE} ${package})
ratoon_python_test(python/documented_test INTERPRETER ${Python_EXECUTABLE} ${package})
if(RATOON_WITH_HTTP)  # servers that do not answer, and the programs whose checkpoints are looked at
  ratoon_python_test(python/interrupt_test INTERPRETER ${Python_EXECUTABLE} ${package})
  ratoon_python_test(python/checkpoints_test INTERPRETER ${Python_EXECUTABLE} ${package})
endif()
ratoon_python_test(python/wheel_nightly_test INTERPRETER ${Python_EXECUTABLE} LABELS nightly TIMEOUT 3600)
ratoon_python_test(python/torch_loader_nightly_test LABELS nightly ${package})
ratoon_python_test(python/session_torch_nightly_test LABELS nightly ${package})
