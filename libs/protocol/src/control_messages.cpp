#include "protocol/control_messages.h"

#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "data_json.h"
#include "foundation/json_document.h"
#include "memory_json.h"
#include "name_list.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 5> end_names{"released", "lapsed", "revoked", "expired",
                                                    "reclaimed"};
constexpr std::array<std::string_view, 3> grant_names{"local", "pilot", "share"};
constexpr std::array<std::string_view, 2> users_names{"owner", "everybody"};
constexpr std::array<std::string_view, 3> wait_names{"hot", "adaptive", "blocking"};

Json to_json(const std::vector<OfferedGpu>& gpus) {
  Json list = Json::array();
  for (const OfferedGpu& gpu : gpus) {
    list.push_back({{"index", gpu.index}, {"model", gpu.model}});
    if (gpu.numa_node) list.back()["numa_node"] = *gpu.numa_node;
    if (!gpu.fault.empty()) list.back()["fault"] = gpu.fault;
  }
  return list;
}
Json to_json(const HostDescription& h) {
  Json json{{"boot_id", h.boot_id},
            {"hostname", h.hostname},
            {"architecture", h.architecture},
            {"cpu", h.cpu},
            {"features", h.features},
            {"cores", h.cores},
            {"kind", h.kind},
            {"memory_bytes", h.memory.value},
            {"thread_order", h.thread_order},
            {"thread_numa_nodes", h.thread_numa_nodes}};
  if (!h.gpus.empty()) json["gpus"] = to_json(h.gpus);
  return json;
}
template <typename Message>
void describe_offer(Json& json, const Message& m) {
  if (m.ends_in) json["ends_in_ms"] = m.ends_in->count();
  json["draining"] = m.draining;
}
Json to_json(const GrantTerms& g) {
  Json json{
      {"source", to_string(g.source)}, {"cluster", g.cluster}, {"job", g.job}, {"node", g.node}};
  if (g.owner) json["owner_uid"] = *g.owner;
  if (g.users) json["users"] = to_string(*g.users);
  describe_offer(json, g);
  return json;
}
Json to_json(const ClientTerms& terms) {
  Json json{{"lease", to_string(terms.client_lease)},
            {"wait", to_string(terms.wait)},
            {"expires_in_ms", terms.expires_in.count()}};
  if (terms.separate_processes) json["separate_processes"] = true;
  if (terms.crew != 0) json["crew"] = terms.crew;
  if (terms.crew_spread) json["crew_spread"] = true;
  return json;
}
/// What the two messages that describe a lease have in common.
template <typename Message>
Json describe_lease(std::string_view type, const Message& m) {
  Json json{{"type", type},
            {"lease", to_string(m.lease)},
            {"tenant", to_json(m.tenant)},
            {"workers", m.workers},
            {"cores_per_worker", m.cores_per_worker},
            {"core_ids", m.core_ids},
            {"memory_bytes", m.memory.value}};
  if (!m.gpus.empty()) json["gpus"] = m.gpus;
  return json;
}
Json to_json(const LeaseHeld& m) {
  Json json = describe_lease("held", m);
  json["client"] = to_json(m.client);
  return json;
}
Json to_json(const ControlHello& m) {
  Json held = Json::array();
  for (const LeaseHeld& lease : m.held) held.push_back(to_json(lease));
  Json json{{"type", "hello"},
            {"protocol", {m.oldest_protocol, m.newest_protocol}},
            {"version", m.version},
            {"executor", m.executor},
            {"host", to_json(m.host)},
            {"grant", to_json(m.grant)},
            {"lane_socket", m.lane_socket},
            {"lane_address", m.lane_address},
            {"lane_protocol", m.lane_protocol},
            {"held", std::move(held)},
            {"stream", m.stream},
            {"ack", m.ack}};
  if (m.data_memory) json["data_memory"] = to_json(*m.data_memory);
  if (!m.data.empty()) json["data"] = to_json(m.data);
  if (m.copies_data) json["copies_data"] = true;
  if (m.leases_memory) json["leases_memory"] = true;
  if (m.digests_data) json["digests_data"] = true;
  if (m.keeps_data) json["keeps_data"] = true;
  if (m.streams_data) json["streams_data"] = true;
  if (!m.memory.empty()) json["memory"] = to_json(m.memory);
  return json;
}
Json to_json(const ControlWelcome& m) {
  return {{"type", "welcome"},
          {"protocol", m.protocol},
          {"epoch", m.epoch},
          {"stream", m.stream},
          {"ack", m.ack},
          {"resumed", m.resumed},
          {"gateway", m.gateway},
          {"names_data", m.names_data},
          {"finds_memory", m.finds_memory},
          {"spares_data", m.spares_data}};
}
Json to_json(const ControlRefused& m) {
  return {{"type", "refused"}, {"code", to_string(m.code)}, {"message", m.message}};
}
Json to_json(const ControlAck&) { return {{"type", "ack"}}; }
Json to_json(const ControlPing&) { return {{"type", "ping"}}; }
Json to_json(const OpenLease& m) {
  Json json = describe_lease("open_lease", m);
  json["secret"] = m.secret;
  json["claim_within_ms"] = m.claim_within.count();
  if (m.client) json["client"] = to_json(*m.client);
  if (m.holder_uid) json["holder_uid"] = *m.holder_uid;
  return json;
}
Json to_json(const RenewLease& m) {
  return {{"type", "renew_lease"},
          {"lease", to_string(m.lease)},
          {"expires_in_ms", m.expires_in.count()}};
}
Json to_json(const CloseLease& m) {
  return {{"type", "close_lease"}, {"lease", to_string(m.lease)}};
}
Json to_json(const LeaseOpened& m) {
  return {{"type", "lease_opened"}, {"lease", to_string(m.lease)}, {"workers", m.workers}};
}
Json to_json(const LeaseRefused& m) {
  return {{"type", "lease_refused"},
          {"lease", to_string(m.lease)},
          {"code", to_string(m.code)},
          {"message", m.message}};
}
Json to_json(const LeaseClosed& m) {
  return {{"type", "lease_closed"}, {"lease", to_string(m.lease)}, {"reason", to_string(m.reason)}};
}
Json to_json(const CapacityReport& m) {
  Json json{{"type", "capacity"},
            {"cores_free", m.cores_free},
            {"workers_ready", m.workers_ready},
            {"counters", m.counters}};
  if (m.milliwatts) json["milliwatts"] = *m.milliwatts;
  if (m.data_used) json["data_used_bytes"] = m.data_used->value;
  return json;
}
Json to_json(const GrantChanged& m) {
  Json json{{"type", "grant"}, {"cores", m.cores}};
  if (m.gpus) json["gpus"] = to_json(*m.gpus);
  describe_offer(json, m);
  return json;
}
Json to_json(const ControlMessage& message) {
  return std::visit(
      []<typename Message>(const Message& m) {
        if constexpr (std::is_constructible_v<DataMessage, Message>)
          return to_json(DataMessage(m));
        else if constexpr (std::is_constructible_v<MemoryLeaseMessage, Message>)
          return to_json(MemoryLeaseMessage(m));
        else
          return to_json(m);
      },
      message);
}

}  // namespace

std::string_view to_string(LeaseEnd end) { return end_names[static_cast<std::size_t>(end)]; }

std::optional<LeaseEnd> parse_lease_end(std::string_view name) {
  return find_name<LeaseEnd>(end_names, name);
}

std::string_view to_string(GrantSource source) {
  return grant_names[static_cast<std::size_t>(source)];
}

std::optional<GrantSource> parse_grant_source(std::string_view name) {
  return find_name<GrantSource>(grant_names, name);
}

std::string_view to_string(GrantUsers users) {
  return users_names[static_cast<std::size_t>(users)];
}

std::optional<GrantUsers> parse_grant_users(std::string_view name) {
  return find_name<GrantUsers>(users_names, name);
}

std::string_view to_string(WaitMode mode) { return wait_names[static_cast<std::size_t>(mode)]; }

std::optional<WaitMode> parse_wait_mode(std::string_view name) {
  return find_name<WaitMode>(wait_names, name);
}

std::string encode(const ControlFrame& frame) {
  Json json = std::visit([](const auto& m) { return to_json(m); }, frame.body);
  if (std::holds_alternative<ControlMessage>(frame.body)) json["seq"] = frame.sequence;
  if (!json.contains("ack") && !std::holds_alternative<ControlRefused>(frame.body))
    json["ack"] = frame.ack;
  return dump_json(json);
}

}  // namespace orchid
