# Without HTTP there is no launcher.
if(TARGET ratoon_launcher)
  ratoon_test(unit/launcher/program_control_test LIBS ratoon::launcher)
  ratoon_test(unit/launcher/program_environment_test LIBS ratoon::launcher nlohmann_json::nlohmann_json)
endif()
