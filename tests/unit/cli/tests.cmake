# Without HTTP there is no command line.
if(TARGET ratoon_operator_api)
  ratoon_test(unit/cli/job_file_test SOURCES job_file_test.cpp ../../../cli/job_file.cpp LIBS ratoon::operator_api yaml-cpp)
endif()
