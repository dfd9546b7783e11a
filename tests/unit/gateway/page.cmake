# The page for people: who may see it.
orchid_unit_test(gateway_page
  SOURCES page_files_test.cpp page_gate_test.cpp page_sessions_test.cpp
  LINKS gateway_inspector gateway_invocations gateway_page nlohmann_json::nlohmann_json)
