find_package(rapidcheck REQUIRED)
ratoon_test(property/contract/codec_property_test LIBS ratoon::base_contract rapidcheck)
ratoon_test(property/contract/words_property_test LIBS ratoon::base_contract rapidcheck)
