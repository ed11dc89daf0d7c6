find_package(rapidcheck REQUIRED)
ratoon_test(property/agent/summed_numbers_property_test LIBS ratoon::agent ratoon::base_contract rapidcheck)
ratoon_test(property/agent/checkpoint_property_test LIBS ratoon::agent ratoon::base_contract rapidcheck)
ratoon_test(property/agent/crash/checkpoint_crash_test
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
ratoon_test(property/agent/crash/parts_crash_test
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
ratoon_test(property/agent/crash/claim_crash_test LIBS crash_support ratoon::agent ratoon::base_contract)
ratoon_test(property/agent/crash/whole_place_crash_test LIBS crash_support ratoon::agent ratoon::base_contract)
ratoon_test(property/agent/crash/rollback_crash_test LIBS crash_support ratoon::agent ratoon::base_contract)
ratoon_test(property/agent/crash/staged_crash_test
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
ratoon_test(property/agent/crash/checkpoint_faults_test
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
ratoon_test(property/agent/crash/checkpoint_damage_test
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
ratoon_test(property/agent/crash/history_crash_test LIBS crash_support ratoon::agent ratoon::base_contract)
ratoon_program(checkpoint_trainer
  SOURCES property/agent/crash/checkpoint_trainer.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract)
ratoon_test(property/agent/crash/checkpoint_kill_test
  SOURCES checkpoint_kill_test.cpp trainer_process.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
add_dependencies(checkpoint_kill_test checkpoint_trainer)
add_test(NAME nightly.checkpoint_kill_test COMMAND checkpoint_kill_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
ratoon_test_properties(nightly.checkpoint_kill_test nightly 3600)
set_tests_properties(nightly.checkpoint_kill_test PROPERTIES ENVIRONMENT RATOON_KILLS=1000)
ratoon_test(property/agent/crash/checkpoint_power_test
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
foreach(type ext4 xfs)
  add_test(NAME nightly.checkpoint_power_test_${type} COMMAND checkpoint_power_test WORKING_DIRECTORY
  ${PROJECT_SOURCE_DIR})
  ratoon_test_properties(nightly.checkpoint_power_test_${type} nightly 3600)
  set_tests_properties(nightly.checkpoint_power_test_${type} PROPERTIES
    ENVIRONMENT "RATOON_CUTS=1000;RATOON_FILE_SYSTEM=${type}")
endforeach()
ratoon_test(property/agent/crash/checkpoint_zombie_test
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
add_test(NAME nightly.checkpoint_zombie_test COMMAND checkpoint_zombie_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
ratoon_test_properties(nightly.checkpoint_zombie_test nightly 3600)
set_tests_properties(nightly.checkpoint_zombie_test PROPERTIES ENVIRONMENT RATOON_CRASH_STRIDE=1)
ratoon_test(property/agent/crash/two_owners_test
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
ratoon_test(property/agent/crash/rival_jobs_laws_test
  SOURCES rival_jobs_laws_test.cpp rival_jobs.cpp rival_jobs_laws.cpp
  LIBS crash_support ratoon::agent ratoon::base_contract LABELS long)
ratoon_test(property/agent/crash/other_protocols_test LIBS crash_support ratoon::agent ratoon::base_contract)
ratoon_test(property/agent/pack_property_test LIBS ratoon::agent ratoon::base_contract rapidcheck)
ratoon_test(property/agent/data_property_test LIBS ratoon::agent rapidcheck)
ratoon_test(property/agent/drain_property_test LIBS ratoon::agent rapidcheck)
ratoon_test(property/agent/drain_within_property_test LIBS ratoon::agent ratoon::base_contract rapidcheck)
ratoon_test(property/agent/session_property_test LIBS ratoon::agent ratoon::base_contract rapidcheck)
ratoon_test(property/agent/board_strangers_laws_test LIBS ratoon::agent ratoon::base_contract)
ratoon_test(property/agent/tracked_state_laws_test LIBS ratoon::agent ratoon::base_contract)
ratoon_test(property/agent/program_requests_property_test LIBS ratoon::agent ratoon::base_contract rapidcheck)
ratoon_test(property/agent/resume_trials_test LIBS ratoon::agent LABELS long)
add_test(NAME nightly.resume_trials_test COMMAND resume_trials_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
ratoon_test_properties(nightly.resume_trials_test nightly 3600)
set_tests_properties(nightly.resume_trials_test PROPERTIES ENVIRONMENT RATOON_SEEDS=1000000)
ratoon_test(property/agent/loader_property_test LIBS ratoon::agent rapidcheck LABELS threads)
ratoon_test(property/agent/corpus_test LIBS agent_fuzz_targets)
ratoon_test(property/agent/torch_order_property_test LIBS ratoon::agent rapidcheck)
if(RATOON_WITH_MDS)
  ratoon_test(property/agent/mds_property_test LIBS mds_fuzz_targets rapidcheck)
endif()
