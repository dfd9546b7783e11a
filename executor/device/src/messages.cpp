#include "device/messages.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/json_document.h"

namespace orchid::executor {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<DeviceFault, std::string_view>, 6> fault_names{
    {{DeviceFault::no_driver, "no_driver"},
     {DeviceFault::old_driver, "old_driver"},
     {DeviceFault::no_device, "no_device"},
     {DeviceFault::refused, "refused"},
     {DeviceFault::crashed, "crashed"},
     {DeviceFault::lost, "lost"}}};

constexpr std::array<std::pair<DeviceLaneEnd, std::string_view>, 3> lane_end_names{
    {{DeviceLaneEnd::asked, "asked"},
     {DeviceLaneEnd::worker, "worker"},
     {DeviceLaneEnd::system, "system"}}};

struct Encoder {
  Json operator()(const DeviceStart& m) const {
    return {{"type", "start"}, {"gpu", m.gpu}, {"data_limit", m.data_limit}};
  }
  Json operator()(const ServeLane& m) const {
    return {{"type", "serve_lane"},
            {"lane", m.lane},
            {"memory_limit", m.memory_limit},
            {"call_request_bytes", m.call_request_bytes},
            {"call_response_bytes", m.call_response_bytes}};
  }
  Json operator()(const LoadKernels& m) const {
    return {{"type", "load_kernels"},
            {"lane", m.lane},
            {"module", m.module},
            {"generation", m.generation}};
  }
  Json operator()(const StopCall& m) const {
    return {{"type", "stop_call"}, {"lane", m.lane}, {"call", m.call}};
  }
  Json operator()(const EndLane& m) const { return {{"type", "end_lane"}, {"lane", m.lane}}; }
  Json operator()(const DeviceReady& m) const {
    return {{"type", "ready"},
            {"driver", m.driver},
            {"model", m.model},
            {"uuid", m.uuid},
            {"architecture", m.architecture},
            {"memory", m.memory},
            {"multiprocessors", m.multiprocessors},
            {"start_us", m.start_us}};
  }
  Json operator()(const DeviceEnded& m) const {
    return {{"type", "ended"}, {"fault", to_string(m.fault)}, {"message", m.message}};
  }
  Json operator()(const KernelsLoaded& m) const {
    return {{"type", "kernels_loaded"},
            {"lane", m.lane},
            {"module", m.module},
            {"generation", m.generation},
            {"load_us", m.load_us}};
  }
  Json operator()(const KernelsRefused& m) const {
    return {{"type", "kernels_refused"},
            {"lane", m.lane},
            {"module", m.module},
            {"generation", m.generation},
            {"message", m.message}};
  }
  Json operator()(const DeviceLaneEnded& m) const {
    return {{"type", "lane_ended"},
            {"lane", m.lane},
            {"end", to_string(m.end)},
            {"message", m.message}};
  }
  Json operator()(const DeviceUsage& m) const {
    return {{"type", "usage"},
            {"lane", m.lane},
            {"call", m.call},
            {"memory", m.memory},
            {"peak_memory", m.peak_memory},
            {"pinned", m.pinned},
            {"kernel_us", m.kernel_us},
            {"launches", m.launches},
            {"sub_ranges", m.sub_ranges},
            {"long_sub_ranges", m.long_sub_ranges}};
  }
};

std::uint64_t lane_of(const JsonObject& f) { return f.number<std::uint64_t>("lane", {.least = 1}); }
std::uint32_t module_of(const JsonObject& f) { return f.number<std::uint32_t>("module"); }
std::uint32_t generation_of(const JsonObject& f) { return f.number<std::uint32_t>("generation"); }

std::optional<DeviceMessage> read_of_agent(const JsonObject& f, std::string_view type) {
  if (type == "start")
    return DeviceStart{.gpu = f.text("gpu"), .data_limit = f.number<std::uint64_t>("data_limit")};
  if (type == "serve_lane")
    return ServeLane{.lane = lane_of(f),
                     .memory_limit = f.number<std::uint64_t>("memory_limit"),
                     .call_request_bytes = f.number<std::uint64_t>("call_request_bytes"),
                     .call_response_bytes = f.number<std::uint64_t>("call_response_bytes")};
  if (type == "load_kernels")
    return LoadKernels{.lane = lane_of(f), .module = module_of(f), .generation = generation_of(f)};
  if (type == "stop_call")
    return StopCall{.lane = lane_of(f), .call = f.number<std::uint64_t>("call")};
  if (type == "end_lane") return EndLane{.lane = lane_of(f)};
  return std::nullopt;
}

std::optional<DeviceMessage> read_of_device(const JsonObject& f, std::string_view type) {
  if (type == "ready")
    return DeviceReady{.driver = f.text("driver"),
                       .model = f.text("model"),
                       .uuid = f.text("uuid"),
                       .architecture = f.text("architecture"),
                       .memory = f.number<std::uint64_t>("memory"),
                       .multiprocessors = f.number<std::uint32_t>("multiprocessors"),
                       .start_us = f.number<std::uint64_t>("start_us")};
  if (type == "ended")
    return DeviceEnded{.fault = f.parsed("fault", parse_device_fault),
                       .message = f.text("message")};
  if (type == "kernels_loaded")
    return KernelsLoaded{.lane = lane_of(f),
                         .module = module_of(f),
                         .generation = generation_of(f),
                         .load_us = f.number<std::uint64_t>("load_us")};
  if (type == "kernels_refused")
    return KernelsRefused{.lane = lane_of(f),
                          .module = module_of(f),
                          .generation = generation_of(f),
                          .message = f.text("message")};
  if (type == "lane_ended")
    return DeviceLaneEnded{.lane = lane_of(f),
                           .end = f.parsed("end", parse_device_lane_end),
                           .message = f.text("message")};
  if (type == "usage")
    return DeviceUsage{.lane = lane_of(f),
                       .call = f.number<std::uint64_t>("call"),
                       .memory = f.number<std::uint64_t>("memory"),
                       .peak_memory = f.number<std::uint64_t>("peak_memory"),
                       .pinned = f.number<std::uint64_t>("pinned"),
                       .kernel_us = f.number<std::uint64_t>("kernel_us"),
                       .launches = f.number<std::uint64_t>("launches"),
                       .sub_ranges = f.number<std::uint64_t>("sub_ranges"),
                       .long_sub_ranges = f.number<std::uint64_t>("long_sub_ranges")};
  return std::nullopt;
}

}  // namespace

std::string_view to_string(DeviceFault fault) {
  for (const auto& [known, name] : fault_names)
    if (known == fault) return name;
  return "unknown";
}

std::optional<DeviceFault> parse_device_fault(std::string_view name) {
  for (const auto& [fault, known] : fault_names)
    if (known == name) return fault;
  return std::nullopt;
}

std::string_view to_string(DeviceLaneEnd end) {
  for (const auto& [known, name] : lane_end_names)
    if (known == end) return name;
  return "unknown";
}

std::optional<DeviceLaneEnd> parse_device_lane_end(std::string_view name) {
  for (const auto& [end, known] : lane_end_names)
    if (known == name) return end;
  return std::nullopt;
}

std::string encode(const DeviceMessage& message) {
  return dump_json(std::visit(Encoder{}, message));
}

Result<DeviceMessage> parse_device_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  const JsonObject f = document.root();
  auto message = read_of_agent(f, type);
  if (!message) message = read_of_device(f, type);
  if (!message) f.fault("type", "is unknown");
  return document.finish(std::move(message).value_or(EndLane{}));
}

}  // namespace orchid::executor
