// What both sides read of each other over the control connection. Writing is in
// control_messages.cpp.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "data_json.h"
#include "foundation/json_document.h"
#include "memory_json.h"
#include "protocol/control_messages.h"
#include "protocol/crew.h"
#include "protocol/limits.h"

namespace orchid {
namespace {

template <typename Message>
void parse_offer(const JsonObject& f, Message& m) {
  if (f.has("ends_in_ms")) {
    constexpr std::uint64_t thousand_days = 1000ULL * 86'400 * 1000;
    m.ends_in =
        std::chrono::milliseconds(f.number<std::uint64_t>("ends_in_ms", {.most = thousand_days}));
  }
  m.draining = f.flag("draining");
}

GrantTerms parse_grant_terms(const JsonObject& f) {
  GrantTerms g;
  g.source = f.parsed("source", parse_grant_source);
  g.cluster = f.text("cluster", 256);
  g.job = f.number<std::uint64_t>("job");
  g.node = f.text("node", 256);
  if (f.has("owner_uid")) g.owner = f.number<std::uint32_t>("owner_uid");
  if (f.has("users")) g.users = f.parsed("users", parse_grant_users);
  parse_offer(f, g);
  return g;
}

/// Sorted, each number once.
CoreList parse_cores(const JsonObject& f, const char* name) {
  CoreList cores = f.numbers(name);
  std::ranges::sort(cores);
  if (std::ranges::adjacent_find(cores) != cores.end()) f.fault(name, "names a core twice");
  if (!cores.empty() && cores.back() > highest_core) f.fault(name, "names a core beyond 65535");
  return cores;
}

std::vector<OfferedGpu> parse_offered_gpus(const JsonObject& f) {
  std::vector<OfferedGpu> gpus;
  for (const JsonObject& one : f.objects("gpus")) {
    gpus.push_back({.index = one.number<std::uint32_t>("index"), .model = one.text("model", 128)});
    if (one.has("numa_node")) gpus.back().numa_node = one.number<std::uint32_t>("numa_node");
    if (one.has("fault")) gpus.back().fault = one.text("fault", 1024);
  }
  std::ranges::sort(gpus, {}, &OfferedGpu::index);
  if (std::ranges::adjacent_find(gpus, {}, &OfferedGpu::index) != gpus.end())
    f.fault("gpus", "names a GPU twice");
  if (!gpus.empty() && gpus.back().index > highest_core)
    f.fault("gpus", "names a GPU beyond 65535");
  return gpus;
}

void parse_threads(const JsonObject& f, HostDescription& h) {
  h.thread_order = f.numbers("thread_order");
  h.thread_numa_nodes = f.numbers("thread_numa_nodes");
  CoreList sorted = h.thread_order;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end() ||
      (!sorted.empty() && sorted.back() > highest_core))
    f.fault("thread_order", "names a thread twice, or one beyond 65535");
  if (h.thread_numa_nodes.size() != h.thread_order.size())
    f.fault("thread_numa_nodes", "must have a node for each of thread_order");
}

HostDescription parse_host(const JsonObject& f) {
  HostDescription h;
  h.boot_id = f.text("boot_id", 128);
  h.hostname = f.text("hostname", 256);
  h.architecture = f.text("architecture", 64);
  h.cpu = f.text("cpu", 256);
  h.features = f.text("features");
  h.cores = parse_cores(f, "cores");
  h.memory = ByteCount{f.number<std::uint64_t>("memory_bytes")};
  h.kind = f.text("kind", 64);
  parse_threads(f, h);
  // Left out by executors that offer none, and by older ones.
  if (f.has("gpus")) h.gpus = parse_offered_gpus(f);
  return h;
}

template <typename Message>
void parse_lease(const JsonObject& f, Message& m) {
  m.lease = f.parsed("lease", parse_lease_id);
  m.tenant = parse_tenant(f);
  m.workers = f.number<std::uint32_t>("workers", {.least = 1});
  m.cores_per_worker = f.number<std::uint32_t>("cores_per_worker", {.least = 1});
  m.memory = ByteCount{f.number<std::uint64_t>("memory_bytes")};
  m.core_ids = parse_cores(f, "core_ids");
  if (m.core_ids.size() != std::uint64_t{m.workers} * m.cores_per_worker)
    f.fault("core_ids", "must name as many cores as the workers have");
  if (f.has("gpus")) m.gpus = parse_cores(f, "gpus");
}

ClientTerms parse_client_terms(const JsonObject& f) {
  const JsonObject client = f.object("client");
  ClientTerms terms;
  terms.client_lease = client.parsed("lease", parse_lease_id);
  terms.wait = client.parsed("wait", parse_wait_mode);
  terms.expires_in = std::chrono::milliseconds(client.number<std::uint32_t>("expires_in_ms"));
  if (client.has("separate_processes"))
    terms.separate_processes = client.flag("separate_processes");
  if (client.has("crew_spread")) terms.crew_spread = client.flag("crew_spread");
  if (client.has("crew"))
    terms.crew = client.number<std::uint32_t>(
        "crew", {.least = crew::least_members, .most = crew::most_members});
  return terms;
}

LeaseHeld parse_lease_held(const JsonObject& f) {
  LeaseHeld m;
  parse_lease(f, m);
  m.client = parse_client_terms(f);
  return m;
}

ControlHello parse_hello(const JsonObject& f) {
  ControlHello m;
  const auto versions = f.numbers("protocol");
  if (versions.size() == 2) {
    m.oldest_protocol = versions[0];
    m.newest_protocol = versions[1];
  } else {
    f.fault("protocol", "must be the oldest and the newest version");
  }
  m.version = f.text("version", 64);
  m.executor = f.text("executor", 128);
  const JsonObject host = f.object("host");
  m.host = parse_host(host);
  const JsonObject grant = f.object("grant");
  m.grant = parse_grant_terms(grant);
  m.lane_socket = f.text("lane_socket", 4096);
  m.lane_address = f.text("lane_address", 512);
  if (f.has("lane_protocol")) m.lane_protocol = f.number<std::uint32_t>("lane_protocol");
  for (const JsonObject& lease : f.objects("held")) m.held.push_back(parse_lease_held(lease));
  m.stream = f.text("stream", 128);
  m.ack = f.number<std::uint64_t>("ack");
  if (f.has("data_memory")) m.data_memory = parse_data_memory(f);
  if (f.has("data"))
    m.data = parse_data_held(f.objects("data", {.most = limits::data_per_executor}));
  if (f.has("copies_data")) m.copies_data = f.flag("copies_data");
  if (f.has("leases_memory")) m.leases_memory = f.flag("leases_memory");
  if (f.has("digests_data")) m.digests_data = f.flag("digests_data");
  if (f.has("keeps_data")) m.keeps_data = f.flag("keeps_data");
  if (f.has("streams_data")) m.streams_data = f.flag("streams_data");
  if (f.has("memory"))
    m.memory = parse_memory_held(f.objects("memory", {.most = limits::data_per_executor}));
  return m;
}

ControlWelcome parse_welcome(const JsonObject& f) {
  ControlWelcome m;
  m.protocol = f.number<std::uint32_t>("protocol");
  m.epoch = f.number<std::uint64_t>("epoch");
  m.stream = f.text("stream", 128);
  m.ack = f.number<std::uint64_t>("ack");
  m.resumed = f.flag("resumed");
  if (f.has("gateway")) m.gateway = f.text("gateway", 64);
  if (f.has("names_data")) m.names_data = f.flag("names_data");
  if (f.has("finds_memory")) m.finds_memory = f.flag("finds_memory");
  if (f.has("spares_data")) m.spares_data = f.flag("spares_data");
  return m;
}

OpenLease parse_open_lease(const JsonObject& f) {
  OpenLease m;
  parse_lease(f, m);
  m.secret = f.text("secret", 64);
  m.claim_within = std::chrono::milliseconds(f.number<std::uint32_t>("claim_within_ms"));
  if (f.has("client")) m.client = parse_client_terms(f);
  if (f.has("holder_uid")) m.holder_uid = f.number<std::uint32_t>("holder_uid");
  return m;
}

CapacityReport parse_capacity(const JsonObject& f) {
  CapacityReport m;
  m.cores_free = f.number<std::uint32_t>("cores_free");
  m.workers_ready = f.number<std::uint32_t>("workers_ready");
  m.counters = f.numbers_by_name("counters");
  if (f.has("milliwatts")) m.milliwatts = f.number<std::uint64_t>("milliwatts");
  if (f.has("data_used_bytes")) m.data_used = ByteCount{f.number<std::uint64_t>("data_used_bytes")};
  return m;
}

GrantChanged parse_grant_changed(const JsonObject& f) {
  GrantChanged m;
  m.cores = parse_cores(f, "cores");
  if (f.has("gpus")) m.gpus = parse_offered_gpus(f);
  parse_offer(f, m);
  return m;
}

std::optional<ControlMessage> parse_numbered(const JsonObject& f, std::string_view type) {
  if (type == "grant") return parse_grant_changed(f);
  if (type == "open_lease") return parse_open_lease(f);
  if (type == "renew_lease")
    return RenewLease{f.parsed("lease", parse_lease_id),
                      std::chrono::milliseconds(f.number<std::uint32_t>("expires_in_ms"))};
  if (type == "capacity") return parse_capacity(f);
  if (type == "close_lease") return CloseLease{f.parsed("lease", parse_lease_id)};
  if (type == "lease_opened")
    return LeaseOpened{f.parsed("lease", parse_lease_id), f.number<std::uint32_t>("workers")};
  if (type == "lease_refused")
    return LeaseRefused{f.parsed("lease", parse_lease_id), f.parsed("code", parse_error_code),
                        f.text("message")};
  if (type == "lease_closed")
    return LeaseClosed{f.parsed("lease", parse_lease_id), f.parsed("reason", parse_lease_end)};
  if (auto message = parse_data_message(f, type))
    return std::visit([](auto& m) -> ControlMessage { return std::move(m); }, *message);
  if (auto message = parse_memory_lease_message(f, type))
    return std::visit([](auto& m) -> ControlMessage { return std::move(m); }, *message);
  return std::nullopt;
}

}  // namespace

Result<ControlFrame> parse_control_frame(std::string_view text) {
  if (text.size() > limits::control_frame.value)
    return fail(ErrorCode::too_large,
                "a control frame is over " + to_string(limits::control_frame));
  JsonDocument document(text, {.subject = "the message"});
  const JsonObject f = document.root();
  const std::string type = document.type();
  ControlFrame frame;
  if (type == "hello") {
    frame.body = parse_hello(f);
  } else if (type == "welcome") {
    frame.body = parse_welcome(f);
  } else if (type == "refused") {
    frame.body = ControlRefused{f.parsed("code", parse_error_code), f.text("message")};
  } else if (type == "ack" || type == "ping") {
    frame.ack = f.number<std::uint64_t>("ack");
    frame.body = type == "ack" ? ControlBody(ControlAck{}) : ControlBody(ControlPing{});
  } else if (auto message = parse_numbered(f, type)) {
    frame.sequence = f.number<std::uint64_t>("seq", {.least = 1});
    frame.ack = f.number<std::uint64_t>("ack");
    frame.body = std::move(*message);
  } else {
    f.fault("type", "is unknown; upgrade the older side");
  }
  return document.finish(std::move(frame));
}

}  // namespace orchid
