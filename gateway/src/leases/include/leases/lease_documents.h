// leases/lease_documents.h: the JSON of /v1/leases.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "leases/client_leases.h"
#include "leases/memory_leases.h"

namespace orchid::gateway {

/// What POST /v1/leases asks for; `tenant` is left empty. An empty body asks for one worker.
/// Errors: `bad_request`, naming the field.
[[nodiscard]] Result<ClientLeaseRequest> parse_lease_request(std::span<const std::byte> body);
/// Whether it asks for no workers, and so for memory alone. False also when it is no document.
[[nodiscard]] bool asks_for_memory(std::span<const std::byte> body);
/// The same of such a one. Errors: `bad_request`, naming the field.
[[nodiscard]] Result<MemoryLeaseRequest> parse_memory_request(std::span<const std::byte> body);
/// Of GET /v1/placement: `cores`, `memory_bytes`, `gpus`, `gpu_model`, and the constraints by their
/// names; each may be left out. Errors: `bad_request`.
[[nodiscard]] Result<placement::WorkerRequest> parse_placement_query(std::string_view query);
/// The names of these parameters.
[[nodiscard]] std::vector<std::string> placement_query_names();
/// The duration that PATCH /v1/leases/ID asks for. Errors: `bad_request`.
[[nodiscard]] Result<ClientLeaseRenewal> parse_lease_renewal(std::span<const std::byte> body);

/// Only the owner of a lease who opens or renews it is shown the secrets.
enum class Secrets { hidden, shown };
[[nodiscard]] std::string lease_json(const ClientLeaseView& lease, Secrets secrets);
[[nodiscard]] std::string lease_json(const MemoryLeaseView& lease, Secrets secrets);
[[nodiscard]] std::string lease_list_json(const std::vector<ClientLeaseView>& leases,
                                          const std::vector<MemoryLeaseView>& memory = {});

}  // namespace orchid::gateway
