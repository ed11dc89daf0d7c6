find_package(rapidcheck REQUIRED)
ratoon_test(property/agent/checkpoint_property_test LIBS ratoon::agent ratoon::base_contract rapidcheck)
ratoon_test(property/agent/data_property_test LIBS ratoon::agent rapidcheck)
ratoon_test(property/agent/corpus_test
  SOURCES corpus_test.cpp ../../support/fuzz_targets.cpp LIBS ratoon::agent ratoon::base_contract)
