# What a sanitizer looks at beside the tests labelled unit, property, conformance or threads: one LibTorch program. Where
# LibTorch is not found the test skips.
add_custom_target(tests-sanitizers)
if(TARGET attempts_probe)
  add_dependencies(tests-sanitizers attempts_probe)
endif()
ratoon_python_test(sanitizers/torch_attempts_test)
