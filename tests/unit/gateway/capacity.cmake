# Hosts, leases and the dispatcher.
orchid_unit_test(gateway_capacity
  SOURCES dispatch_fakes.cpp dispatch_apart_test.cpp dispatch_data_test.cpp dispatch_failures_test.cpp dispatch_fairness_test.cpp dispatch_policy_test.cpp dispatcher_test.cpp dispatchers_by_tenant_test.cpp clusters_test.cpp config_test.cpp host_book_test.cpp http_lease_documents_test.cpp
          client_lease_property_test.cpp client_leases_test.cpp data_catalogue_test.cpp data_property_test.cpp host_gate_test.cpp host_messages_test.cpp lease_broker_test.cpp lease_clusters_test.cpp lease_displaced_test.cpp lease_needs_test.cpp lease_property_test.cpp lease_reservations_property_test.cpp lease_reservations_test.cpp lease_spare_test.cpp pilot_settings_test.cpp
          call_traces_test.cpp client_crews_test.cpp
          # The executor's side: of the control connection, for a real conversation with the gate, and of leases.
          ${CMAKE_SOURCE_DIR}/executor/agent/src/control_client.cpp ${CMAKE_SOURCE_DIR}/executor/agent/src/leases/lease_table.cpp
  LINKS gateway_config gateway_data gateway_reports gateway_dispatcher gateway_pilots Orchid::transport nlohmann_json::nlohmann_json)
target_include_directories(unit_gateway_capacity PRIVATE ${CMAKE_SOURCE_DIR}/executor/agent/src)
# Its histories are long: optimising them takes less time than they would take otherwise.
target_compile_options(unit_gateway_capacity PRIVATE $<$<CONFIG:Debug>:-O1>)
set_tests_properties(unit.gateway_capacity PROPERTIES TIMEOUT 300)
