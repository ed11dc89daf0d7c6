if(TARGET ratoon_operator_coordinator)
  ratoon_test(property/operator/reconcile_laws_test
    SOURCES reconcile_laws_test.cpp simulated_agent.cpp simulated_world.cpp
    LIBS ratoon::operator_core ratoon::operator_coordinator)
endif()
