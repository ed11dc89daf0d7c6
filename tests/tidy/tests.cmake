# The repository's own rules. Each file runs by hand too: python3 tests/tidy/layering_test.py
ratoon_python_test(tidy/layering_test)
ratoon_python_test(tidy/banned_test)
ratoon_python_test(tidy/format_test)
ratoon_python_test(tidy/links_test)
ratoon_python_test(tidy/headers_test TIMEOUT 600)
ratoon_python_test(tidy/named_tests_test)
ratoon_python_test(tidy/nightly_counts_test)
ratoon_python_test(tidy/self_test)
