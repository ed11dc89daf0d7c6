# Included by tests/CMakeLists.txt. Python finds installed_tree.py beside the test.
ratoon_python_test(install/tree_test)
ratoon_python_test(install/consumer_test TIMEOUT 3600)
ratoon_python_test(install/strict_consumer_test)
ratoon_python_test(install/libtorch_test)
ratoon_python_test(install/package_test)
