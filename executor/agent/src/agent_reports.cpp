// What the agent tells the gateway of itself.
#include "agent.h"
#include "foundation/random.h"
#include "protocol/lane_protocol.h"

namespace orchid::executor {
namespace {
/// Counters that grow all the time are told no more often.
constexpr std::chrono::seconds counter_interval{1};
}  // namespace

ControlHello Agent::make_hello(const CompilerReady& target) const {
  ControlHello hello;
  hello.version = ORCHID_VERSION;
  hello.executor = random_hex(8);
  hello.host = {.boot_id = host_.boot_id,
                .hostname = host_.hostname,
                .architecture = host_.architecture,
                .cpu = target.cpu,
                .features = target.features,
                .cores = leases_.cores(),
                .memory = host_.memory,
                .kind = !options_.kind.empty()  ? options_.kind
                        : options_.gpus.empty() ? "cpu"
                                                : "gpu",
                .thread_order = host_.thread_order,
                .thread_numa_nodes = host_.thread_numa_nodes,
                .gpus = {}};  // as they are at each hello
  hello.lane_socket = options_.runtime_directory / "lanes.sock";
  hello.lane_address = options_.lane_address;
  hello.lane_protocol = newest_lane_protocol;
  return hello;
}

void Agent::complete_hello(ControlHello& hello) {
  const auto now = std::chrono::steady_clock::now();
  hello.held = leases_.held_by_clients(now);
  hello.grant = grant_.terms(now);
  hello.host.cores = leases_.usable_cores();
  hello.host.gpus = devices_.offered();
  if (!keeps_data()) return;
  hello.data_memory = data_.memory();
  hello.data = data_.introduce();
  hello.copies_data = true;
  hello.leases_memory = true;
  hello.digests_data = true;
  hello.keeps_data = options_.data_durable.has_value();
  hello.streams_data = true;
  hello.memory = memory_.introduce(now);
}

void Agent::report_capacity() {
  if (!gateway_) return;
  CapacityReport report{.cores_free = leases_.draining() ? 0 : leases_.cores_free(),
                        .workers_ready = static_cast<std::uint32_t>(workers_.ready()),
                        .counters = counters_,
                        .milliwatts = power_.milliwatts()};
  report.counters["births"] = workers_.births();
  report.counters["sleepers"] = lanes_.sleepers().count;
  report.counters["sleepers_memory_bytes"] = lanes_.sleepers().memory.value;
  report.counters.merge(growing_counters());
  report.counters["code_improved"] = code_.improved();
  report.counters["unreadable_messages"] = gateway_->unreadable();
  reported_ready_ = workers_.ready();
  reported_improved_ = code_.improved();
  reported_growing_ = growing_counters();
  reported_holds_ = holds();
  reported_data_ = data_.book().used();
  if (keeps_data()) report.data_used = reported_data_;
  reported_at_ = std::chrono::steady_clock::now();
  gateway_->send(std::move(report));
}

std::uint64_t Agent::holds() const { return bandwidth_ ? bandwidth_->actions() : 0; }

std::map<std::string, std::uint64_t> Agent::growing_counters() const {
  std::map<std::string, std::uint64_t> counters;
  compilers_.count(counters);
  devices_.count(counters);
  data_.count(counters);
  if (keeps_data()) memory_.count(counters);
  return counters;
}

bool Agent::has_news() const {
  if (workers_.ready() != reported_ready_ || code_.improved() != reported_improved_ ||
      data_.book().used() != reported_data_)
    return true;
  return (holds() != reported_holds_ || growing_counters() != reported_growing_) &&
         std::chrono::steady_clock::now() - reported_at_ >= counter_interval;
}

}  // namespace orchid::executor
