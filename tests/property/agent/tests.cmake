find_package(rapidcheck REQUIRED)
ratoon_test(property/agent/checkpoint_property_test LIBS ratoon::agent ratoon::base_contract rapidcheck)
