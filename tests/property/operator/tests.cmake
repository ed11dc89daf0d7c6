if(TARGET ratoon_operator_coordinator)
  ratoon_test(property/operator/reconcile_laws_test
    LIBS operator_worlds)
  ratoon_test(property/operator/release_laws_test LIBS operator_worlds)
  ratoon_test(property/operator/group_laws_test
    SOURCES group_laws_test.cpp simulated_group.cpp LIBS ratoon::operator_core ratoon::operator_runtime)
  ratoon_test(property/operator/election_laws_test SOURCES election_laws_test.cpp LIBS ratoon::operator_runtime)
  ratoon_test(property/operator/interleavings_test
    SOURCES interleavings_test.cpp small_members.cpp small_world.cpp small_world_prints.cpp
    LIBS ratoon::operator_core ratoon::operator_coordinator)
  # A share for each core: of 4,000 worlds as it ships, of 200,000 a night: a world of eight members takes ten
  # milliseconds. CI has the same worlds for each commit, so more of them would find little.
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT RATOON_SANITIZE)
    set(seeds ";RATOON_SEEDS=4000")
  endif()
  set_tests_properties(property.reconcile_laws_test PROPERTIES ENVIRONMENT "RATOON_SHARD=0;RATOON_SHARDS=4${seeds}")
  foreach(shard 1 2 3)
    add_test(NAME property.reconcile_laws_test_${shard} COMMAND reconcile_laws_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    ratoon_test_properties(property.reconcile_laws_test_${shard} property 600)
    set_tests_properties(property.reconcile_laws_test_${shard} PROPERTIES
      ENVIRONMENT "RATOON_SHARD=${shard};RATOON_SHARDS=4${seeds}")
  endforeach()
  foreach(shard 0 1 2 3)
    add_test(NAME nightly.reconcile_laws_test_${shard} COMMAND reconcile_laws_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    ratoon_test_properties(nightly.reconcile_laws_test_${shard} nightly 3600)
    set_tests_properties(nightly.reconcile_laws_test_${shard} PROPERTIES
      ENVIRONMENT "RATOON_SEEDS=200000;RATOON_SHARD=${shard};RATOON_SHARDS=4")
  endforeach()
  add_test(NAME nightly.interleavings_test COMMAND interleavings_test --gtest_filter=*NoneBreaks*
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  ratoon_test_properties(nightly.interleavings_test nightly 3600)
  set_tests_properties(nightly.interleavings_test PROPERTIES ENVIRONMENT "RATOON_FAULTS=3")
endif()
if(TARGET ratoon AND TARGET ratoon_operator_runtime)
  ratoon_test(property/operator/accounts_laws_test
    SOURCES accounts_laws_test.cpp ../../../cli/report/account.cpp ../../../cli/report/curves.cpp
            ../../../cli/report/downsample.cpp ../../../cli/report/facts/run_event.cpp
            ../../../cli/report/ledger_bars.cpp ../../../cli/report/make_report.cpp ../../../cli/report/timeline.cpp
    LIBS operator_worlds ratoon::operator_runtime ratoon::operator_local ratoon::agent)
endif()
if(TARGET ratoon_operator_kube)
  ratoon_test(property/operator/kube_corpus_test LIBS kube_fuzz_targets)
  ratoon_test(property/operator/stranger_corpus_test LIBS file_fuzz_targets http_fuzz_targets)
endif()
if(TARGET ratoon_operator_runtime)
  ratoon_test(property/operator/copy_laws_test
    LIBS operator_worlds ratoon::operator_runtime)
  ratoon_test(property/operator/writes_laws_test
    SOURCES writes_laws_test.cpp documents.cpp memory_server.cpp real_server.cpp simulated_cluster.cpp
            simulated_writes.cpp
    LIBS operator_worlds ratoon::operator_runtime)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT RATOON_SANITIZE)
    set_tests_properties(property.copy_laws_test PROPERTIES ENVIRONMENT "RATOON_SEEDS=2000;RATOON_EVENTS=100000")
    set_tests_properties(property.writes_laws_test PROPERTIES ENVIRONMENT "RATOON_SEEDS=100")
  endif()
  add_test(NAME nightly.copy_laws_test COMMAND copy_laws_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  ratoon_test_properties(nightly.copy_laws_test nightly 3600)
  set_tests_properties(nightly.copy_laws_test PROPERTIES ENVIRONMENT "RATOON_SEEDS=20000;RATOON_EVENTS=1000000")
  foreach(shard 0 1 2 3)
    add_test(NAME nightly.writes_laws_test_${shard} COMMAND writes_laws_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    ratoon_test_properties(nightly.writes_laws_test_${shard} nightly 3600)
    set_tests_properties(nightly.writes_laws_test_${shard} PROPERTIES
      ENVIRONMENT "RATOON_SEEDS=4000;RATOON_SHARD=${shard};RATOON_SHARDS=4")
  endforeach()
endif()
