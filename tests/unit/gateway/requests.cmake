# Functions, invocations, store, tenants, and what HTTP means.
orchid_unit_test(gateway_requests
  SOURCES concurrency_test.cpp functions_registry_test.cpp functions_service_test.cpp http_body_test.cpp http_problem_test.cpp http_request_test.cpp
          http_router_test.cpp inspection_turns_test.cpp module_hosts_test.cpp invocation_async_test.cpp invocation_book_test.cpp invocation_sync_test.cpp following_runner_test.cpp keeping_runner_test.cpp store_test.cpp
          tenants_token_book_test.cpp
  LINKS gateway_inspector gateway_invocations nlohmann_json::nlohmann_json)
# Streams of events, on real connections.
orchid_unit_test(gateway_events
  SOURCES http_event_stream_test.cpp http_session_answer_test.cpp http_session_body_test.cpp http_session_events_test.cpp invocation_events_test.cpp
  LINKS gateway_inspector gateway_invocations gateway_server nlohmann_json::nlohmann_json)
# Apart, since the executor has a header of the same name.
orchid_unit_test(gateway_data SOURCES data_copies_property_test.cpp data_copies_test.cpp data_copy_service_test.cpp data_copy_work_test.cpp data_digests_test.cpp data_documents_test.cpp data_filing_test.cpp data_for_calls_test.cpp data_gathering_test.cpp data_removals_test.cpp data_service_test.cpp recent_call_data_test.cpp far_end_test.cpp far_transfers_test.cpp LINKS gateway_data nlohmann_json::nlohmann_json)
target_include_directories(unit_gateway_data PRIVATE ${CMAKE_SOURCE_DIR}/tests/fixtures)
# Its histories are long, as those of unit.gateway_capacity.
target_compile_options(unit_gateway_data PRIVATE $<$<CONFIG:Debug>:-O1>)
set_tests_properties(unit.gateway_data PROPERTIES TIMEOUT 300)
