ratoon_test(unit/process/process_supervisor_test LIBS ratoon::base_process)
