ratoon_test(unit/contract/contract_test
  SOURCES exit_code_test.cpp fields_test.cpp golden_test.cpp names_test.cpp refusals_test.cpp resume_point_test.cpp
  LIBS ratoon::base_contract)
