# The page for people: who may see it, and what it tells of the last hours.
orchid_unit_test(gateway_page
  SOURCES answer_tag_test.cpp page_files_test.cpp page_gate_test.cpp page_sessions_test.cpp utilisation_book_test.cpp
  LINKS gateway_inspector gateway_invocations gateway_page gateway_reports nlohmann_json::nlohmann_json)
