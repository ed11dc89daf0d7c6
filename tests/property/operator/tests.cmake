if(TARGET ratoon_operator_coordinator)
  ratoon_test(property/operator/reconcile_laws_test
    SOURCES reconcile_laws_test.cpp laws.cpp laws_of_ends.cpp laws_of_policies.cpp laws_of_repetition.cpp
            laws_of_worlds.cpp recount.cpp simulated_agent.cpp simulated_nodes.cpp simulated_platform.cpp
            simulated_pods.cpp simulated_trouble.cpp simulated_world.cpp
    LIBS ratoon::operator_core ratoon::operator_coordinator TIMEOUT 600)
endif()
