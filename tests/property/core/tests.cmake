# RapidCheck prints the seed of a failure; RC_PARAMS="seed=..." repeats it, RC_PARAMS="max_success=100000" digs deeper.
find_package(rapidcheck REQUIRED)
ratoon_test(property/core/clock_property_test LIBS ratoon::base_core rapidcheck)
ratoon_test(property/core/hash_property_test LIBS ratoon::base_core rapidcheck)
ratoon_test(property/core/log_property_test LIBS ratoon::base_core nlohmann_json::nlohmann_json rapidcheck)
ratoon_test(property/core/philox_property_test LIBS ratoon::base_core rapidcheck)
