# On a real cluster of this machine, scripts/cluster. Each skips where there is no root or no servers.
ratoon_python_test(cluster/cluster_test)
if(RATOON_WITH_TORCH)
  # Kills nodes and the operator while digits train. It is the longest test of CI, so it starts first. The nightly
  # version measures seconds, so nothing else runs beside it.
  ratoon_python_test(cluster/training_test)
  set_tests_properties(cluster.training_test PROPERTIES COST 1000)
  ratoon_python_test(cluster/faults_nightly_test LABELS nightly)
  ratoon_python_test(cluster/gitops_nightly_test LABELS nightly)
  ratoon_python_test(cluster/operators_nightly_test LABELS nightly TIMEOUT 3600)
  ratoon_python_test(cluster/training_nightly_test LABELS nightly TIMEOUT 3600)
  set_tests_properties(cluster.training_nightly_test PROPERTIES RUN_SERIAL ON)
endif()
