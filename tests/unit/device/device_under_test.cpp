#include "device_under_test.h"

#include <poll.h>

#include <chrono>
#include <fstream>
#include <utility>

#include "foundation/files.h"
#include "foundation/sockets.h"

namespace orchid::executor::test {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::milliseconds patience = 20s;

bool wait_readable(int descriptor) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(patience.count())) == 1;
}

}  // namespace

WorkerEnd::WorkerEnd(transport::LaneDescriptors device, std::optional<transport::LaneMemory> call)
    : call_(std::move(call)) {
  auto attached = transport::LocalLaneClient::attach(std::move(device));
  REQUIRE(attached.has_value());
  lane_.emplace(std::move(*attached));
}

std::uint64_t WorkerEnd::send_raw(std::string_view input, std::uint16_t flags) {
  const auto id = lane_->send({.input = as_bytes(input), .flags = flags});
  REQUIRE_MESSAGE(id.has_value(), id.error().message);
  return *id;
}

std::uint64_t WorkerEnd::send(const DeviceCommand& command, std::string_view rest) {
  std::string input(reinterpret_cast<const char*>(&command), sizeof command);
  input += rest;
  return send_raw(input);
}

LaneAnswer WorkerEnd::receive() {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto response = lane_->receive();
    REQUIRE_MESSAGE(response.has_value(), response.error().message);
    if (*response) {
      const auto payload = (*response)->payload;
      REQUIRE(payload.size() >= sizeof(DeviceAnswer));
      DeviceAnswer head;
      std::memcpy(&head, payload.data(), sizeof head);
      LaneAnswer answer{.id = (*response)->request_id,
                        .status = static_cast<DeviceStatus>(head.status),
                        .value = head.value,
                        .text = std::string(as_text(payload.subspan(sizeof head)))};
      lane_->release(**response);
      return answer;
    }
    REQUIRE(std::chrono::steady_clock::now() < end);
    if (!lane_->prepare_to_sleep()) continue;
    REQUIRE(wait_readable(lane_->wake_descriptor()));
    lane_->finish_sleep();
  }
}

LaneAnswer WorkerEnd::ask(const DeviceCommand& command, std::string_view rest) {
  const auto id = send(command, rest);
  auto answer = receive();
  CHECK(answer.id == id);
  return answer;
}

LaneAnswer WorkerEnd::wait_for(std::uint64_t launch) {
  while (true) {
    auto answer = ask({.call = call, .offset = launch, .kind = kind_of(DeviceCommandKind::wait)});
    if (answer.status != DeviceStatus::not_yet) return answer;
  }
}

std::uint64_t WorkerEnd::allocate(std::uint64_t size) {
  const auto answer = ask({.call = call, .size = size, .kind = kind_of(DeviceCommandKind::alloc)});
  REQUIRE_MESSAGE(answer.status == DeviceStatus::ok, answer.text);
  return answer.value;
}

void WorkerEnd::write(std::uint64_t address, std::string_view bytes) {
  const auto answer = ask({.call = call,
                           .address = address,
                           .size = bytes.size(),
                           .kind = kind_of(DeviceCommandKind::write)},
                          bytes);
  REQUIRE_MESSAGE(answer.status == DeviceStatus::ok, answer.text);
}

std::string WorkerEnd::read(std::uint64_t address, std::uint64_t size) {
  auto answer = ask(
      {.call = call, .address = address, .size = size, .kind = kind_of(DeviceCommandKind::read)});
  REQUIRE_MESSAGE(answer.status == DeviceStatus::ok, answer.text);
  REQUIRE(answer.text.size() == size);
  return answer.text;
}

LaneAnswer WorkerEnd::launch_bytes(const std::string& kernel, std::string_view args,
                                   std::uint64_t items, std::uint32_t group_size) {
  return ask({.call = call,
              .size = items,
              .args_size = static_cast<std::uint32_t>(args.size()),
              .group_size = group_size,
              .name_length = static_cast<std::uint16_t>(kernel.size()),
              .kind = kind_of(DeviceCommandKind::launch)},
             kernel + std::string(args));
}

LaneAnswer WorkerEnd::end_call() {
  return ask({.call = call, .kind = kind_of(DeviceCommandKind::end_call)});
}

DeviceUnderTest::DeviceUnderTest() : DeviceUnderTest(Options{}) {
  const auto ready = expect<DeviceReady>();
  CHECK(ready.architecture == "sm_80");
}

DeviceUnderTest::DeviceUnderTest(const Options& options) {
  order(options.orders);
  auto pair = make_packet_pair();
  REQUIRE(pair.has_value());
  const std::string folders = options.has_driver
                                  ? FAKE_CUDA_FOLDER ":" TWINS_FOLDER ":" + scratch_.path().string()
                                  : scratch_.path().string();
  auto started =
      processes::ChildProcess::start({.program = DEVICE_PROGRAM,
                                      .arguments = {"--serve", "3"},
                                      .environment = processes::environment_with(
                                          {"LD_LIBRARY_PATH=" + folders, "CUDA_FAKE_TWINS=" TWINS,
                                           "CUDA_FAKE_ORDERS=" + (scratch_ / "orders").string()}),
                                      .descriptors = {{.from = pair->second.get(), .as = 3}}});
  REQUIRE_MESSAGE(started.has_value(), started.error().message);
  process_.emplace(std::move(*started));
  socket_ = std::move(pair->first);
  send(DeviceStart{.gpu = "0", .data_limit = 256ULL << 20});
}

void DeviceUnderTest::order(const std::string& orders) {
  // The same file, which the driver has open.
  std::ofstream(scratch_ / "orders", std::ios::trunc) << orders << std::flush;
}

void DeviceUnderTest::send(const DeviceMessage& message, const std::vector<int>& descriptors) {
  const auto sent = send_packet(socket_.get(), encode(message), descriptors);
  REQUIRE_MESSAGE(sent.has_value(), sent.error().message);
}

void DeviceUnderTest::send_raw(const std::string& text) {
  REQUIRE(send_packet(socket_.get(), text).has_value());
}

DeviceMessage DeviceUnderTest::receive() {
  REQUIRE(wait_readable(socket_.get()));
  const auto packet = receive_packet(socket_.get(), false);
  REQUIRE_MESSAGE(packet.has_value(), packet.error().message);
  REQUIRE(packet->has_value());
  CHECK((*packet)->descriptors.empty());
  auto message = parse_device_message((*packet)->text);
  REQUIRE_MESSAGE(message.has_value(), message.error().message);
  return *message;
}

bool DeviceUnderTest::is_gone() {
  REQUIRE(wait_readable(socket_.get()));
  const auto packet = receive_packet(socket_.get(), false);
  return !packet && packet.error().code == ErrorCode::unreachable;
}

processes::ProcessEnd DeviceUnderTest::wait_for_end() {
  const auto end = process_->wait(patience);
  REQUIRE(end.has_value());
  return *end;
}

std::unique_ptr<WorkerEnd> DeviceUnderTest::open_lane(const LaneTerms& terms) {
  auto device = transport::make_lane(device_lane_geometry);
  REQUIRE(device.has_value());
  std::vector<int> descriptors{device->memory.get(), device->wake_worker.get(),
                               device->wake_client.get()};
  std::optional<transport::LaneMemory> call;
  std::optional<transport::LaneDescriptors> call_lane;
  if (terms.call_bytes != 0) {
    const transport::LaneGeometry geometry{ByteCount{terms.call_bytes},
                                           ByteCount{terms.call_bytes}};
    auto made = transport::make_lane(geometry);
    REQUIRE(made.has_value());
    auto mapped = transport::LaneMemory::map(made->memory.get(), geometry);
    REQUIRE(mapped.has_value());
    call.emplace(std::move(*mapped));
    descriptors.push_back(made->memory.get());
    call_lane.emplace(std::move(*made));
  }
  send(ServeLane{.lane = ++lane_,
                 .memory_limit = terms.memory_limit,
                 .call_request_bytes = terms.call_bytes,
                 .call_response_bytes = terms.call_bytes},
       descriptors);
  load(0, kernels_ptx());
  const auto loaded = expect<KernelsLoaded>();
  CHECK(loaded.lane == lane_);
  return std::make_unique<WorkerEnd>(std::move(*device), std::move(call));
}

void DeviceUnderTest::load(std::uint32_t module, const std::string& ptx) {
  const auto file = make_sealed_memory("ptx", as_bytes(ptx));
  REQUIRE(file.has_value());
  send(LoadKernels{.lane = lane_, .module = module}, {file->get()});
}

DeviceUsage DeviceUnderTest::end_lane() {
  send(EndLane{.lane = lane_});
  DeviceUsage usage;
  while (true) {
    const auto message = receive();
    if (const auto* told = std::get_if<DeviceUsage>(&message)) usage = *told;
    const auto* const ended = std::get_if<DeviceLaneEnded>(&message);
    if (ended == nullptr) continue;
    CHECK(ended->lane == lane_);
    CHECK(ended->message == "");
    return usage;
  }
}

std::string kernels_ptx() {
  std::string ptx = ".version 6.3\n.target sm_75\n.address_size 64\n";
  const std::vector<std::pair<std::string, int>> kernels{
      {"saxpy", 24}, {"count", 8},  {"other", 8},    {"pieces", 8},
      {"wild", 8},   {"escape", 8}, {"untwinned", 8}};
  for (const auto& [name, args] : kernels) {
    const std::string symbol = "orchid_kernel_" + name;
    ptx += ".visible .entry " + symbol + "(\n  .param .align 8 .b8 " + symbol + "_param_0[" +
           std::to_string(args) + "],\n  .param .u64 " + symbol + "_param_1,\n  .param .u64 " +
           symbol + "_param_2)\n{\n  ret;\n}\n";
  }
  return ptx;
}

}  // namespace orchid::executor::test
