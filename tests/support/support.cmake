# What several test programs share. What replaces a function of the C library (scarce_memory, disk_watch) is not among it.
ratoon_test_support(crash_support
  SOURCES support/crash/crash_checker.cpp support/crash/crash_point.cpp support/crash/crash_states.cpp
          support/crash/loop_mount.cpp support/crash/model_disk.cpp support/crash/observed_disk.cpp
          support/crash/run_life.cpp support/crash/turns.cpp
  LIBS ratoon::agent ratoon::base_contract)
if(RATOON_WITH_HTTP)
  ratoon_test_support(certificate_support
    SOURCES conformance/support/test_certificates.cpp LIBS ratoon::base_core OpenSSL::Crypto)
endif()
if(TARGET ratoon_operator_runtime)
  # The simulated worlds and their laws, which judge the core alone and the core with its writes.
  ratoon_test_support(operator_worlds
    SOURCES property/operator/laws.cpp property/operator/laws_of_checkpoints.cpp property/operator/laws_of_ends.cpp
            property/operator/laws_of_policies.cpp property/operator/laws_of_repetition.cpp
            property/operator/laws_of_worlds.cpp property/operator/moves.cpp property/operator/recount.cpp
            property/operator/simulated_agent.cpp property/operator/simulated_api_server.cpp
            property/operator/simulated_nodes.cpp property/operator/simulated_platform.cpp
            property/operator/simulated_pods.cpp property/operator/simulated_programs.cpp
            property/operator/simulated_storage.cpp property/operator/simulated_trouble.cpp
            property/operator/simulated_world.cpp
    LIBS ratoon::operator_core ratoon::operator_coordinator ratoon::operator_kube)
endif()
