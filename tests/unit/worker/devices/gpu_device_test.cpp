// Kernels on a GPU, as an entry calls them; at the other end of the lane is a thread with some
// memory.
#include "devices/gpu_device.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "call_parts.h"
#include "orchid/kernel.h"
#include "user_code/call_context.h"

struct NothingArgs {
  std::uint64_t number;
};
ORCHID_DECLARE_KERNEL(of_a_gpu, NothingArgs)

namespace orchid::executor {
namespace {

/// A device process in a thread, which answers what it is told to.
class DeviceThread {
 public:
  explicit DeviceThread(const transport::LaneDescriptors& lane)
      : lane_(transport::LocalLaneWorker::attach(transport::duplicate(lane).value()).value()),
        thread_([this] { run(); }) {}
  ~DeviceThread() {
    over = true;
    thread_.join();
  }
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  [[nodiscard]] std::vector<DeviceCommand> commands() {
    const std::scoped_lock lock(mutex_);
    return commands_;
  }

  std::atomic<bool> over{false};
  std::atomic<bool> hangs{false};                      // it takes commands and answers none
  std::atomic<DeviceStatus> status{DeviceStatus::ok};  // of all answers but that to end_call
  std::atomic<std::size_t> most_in_line{0};

 private:
  void run() {
    while (!over) {
      auto request = lane_.receive().value();
      if (!request) {
        ::sched_yield();
        continue;
      }
      DeviceCommand command;
      std::memcpy(&command, request->input.data(), sizeof(command));
      {
        const std::scoped_lock lock(mutex_);
        commands_.push_back(command);
      }
      while (hangs && !over) ::sched_yield();
      answer(command, request->header.request_id, request->input.subspan(sizeof(command)));
    }
  }

  void answer(const DeviceCommand& command, std::uint64_t number, std::span<std::byte> rest) {
    const auto kind = static_cast<DeviceCommandKind>(command.kind);
    DeviceAnswer answer;
    if (kind != DeviceCommandKind::end_call)
      answer.status = static_cast<std::uint8_t>(status.load());
    std::vector<std::byte> behind;
    if (answer.status != 0) {
      constexpr std::string_view words = "the driver's words";
      behind.resize(words.size());
      std::memcpy(behind.data(), words.data(), words.size());
    } else if (kind == DeviceCommandKind::alloc) {
      answer.value = base;
      memory_.resize(command.size);
    } else if (kind == DeviceCommandKind::write && !rest.empty()) {
      std::memcpy(memory_.data() + (command.address - base), rest.data(), rest.size());
    } else if (kind == DeviceCommandKind::read && command.area == 0) {
      behind.assign(memory_.data() + (command.address - base),
                    memory_.data() + (command.address - base) + command.size);
    } else if (kind == DeviceCommandKind::launch) {
      line_.push_back(number);
      most_in_line = std::max(most_in_line.load(), line_.size());
    } else if (kind == DeviceCommandKind::wait) {
      std::erase_if(line_, [&](std::uint64_t launch) {
        return command.offset == 0 || launch <= command.offset;
      });
    }
    std::byte* room = lane_.output(sizeof(answer) + behind.size());
    if (room == nullptr) return;
    std::memcpy(room, &answer, sizeof(answer));
    if (!behind.empty()) std::memcpy(room + sizeof(answer), behind.data(), behind.size());
    static_cast<void>(lane_.answer({}));
  }

  static constexpr std::uint64_t base = 0x10000;
  transport::LocalLaneWorker lane_;
  std::vector<std::byte> memory_;
  std::vector<std::uint64_t> line_;
  std::mutex mutex_;
  std::vector<DeviceCommand> commands_;  // under the mutex
  std::thread thread_;                   // the last: it uses the others
};

/// A worker that runs call number 1 and has a seat.
struct GpuFixture : test::CallParts {
  GpuFixture() {
    page.device_seat.store(1);
    call.slot = 3;
    call.generation = 4;
  }
  [[nodiscard]] std::string message() const { return std::string(call.message_text()); }
  void begin_call(std::uint64_t number) {
    REQUIRE(device.end_call().empty());
    call.number = number;
    call.message_size = 0;
  }

  transport::LaneDescriptors descriptors = transport::make_lane(device_lane_geometry).value();
  std::optional<DeviceThread> process{std::in_place, descriptors};
  std::vector<std::byte> input = std::vector<std::byte>(4096);
  std::vector<std::byte> output = std::vector<std::byte>(4096);
  GpuDevice device{
      {.lane =
           transport::LocalLaneClient::attach(transport::duplicate(descriptors).value()).value(),
       .page = page,
       .call_input = input,
       .call_output = output}};
  orchid_call call = make_call(device);
};

std::vector<std::byte> some_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 4096);
  return bytes;
}

}  // namespace

TEST_CASE("bytes of the function's own memory come to the device and back in pieces") {
  GpuFixture fixture;
  const auto bytes = some_bytes(20'000'001);
  std::vector<std::byte> back(bytes.size());
  CHECK(orchid_device_kind(&fixture.call) == ORCHID_DEVICE_GPU);
  void* memory = orchid_device_alloc(&fixture.call, bytes.size());
  REQUIRE(memory != nullptr);
  CHECK(fixture.page.device_call.load() == 1);
  REQUIRE(orchid_device_write(&fixture.call, memory, bytes.data(), bytes.size()) == ORCHID_OK);
  REQUIRE(orchid_device_read(&fixture.call, back.data(), memory, back.size()) == ORCHID_OK);
  CHECK(back == bytes);
  orchid_device_free(&fixture.call, memory);
  CHECK(fixture.device.end_call().empty());
  CHECK(fixture.page.device_call.load() == 0);
  const auto commands = fixture.process->commands();
  CHECK(static_cast<DeviceCommandKind>(commands.back().kind) == DeviceCommandKind::end_call);
  for (const DeviceCommand& command : commands) CHECK(command.call == 1);
}

TEST_CASE("bytes of the call's lane are named, not copied") {
  GpuFixture fixture;
  void* memory = orchid_device_alloc(&fixture.call, 4096);
  REQUIRE(memory != nullptr);
  CHECK(orchid_device_write(&fixture.call, memory, fixture.input.data() + 64, 1000) == ORCHID_OK);
  CHECK(orchid_device_read(&fixture.call, fixture.output.data() + 96, memory, 4000) == ORCHID_OK);
  const auto commands = fixture.process->commands();
  REQUIRE(commands.size() == 3);
  CHECK(static_cast<DeviceHostArea>(commands[1].area) == DeviceHostArea::call_input);
  CHECK(commands[1].offset == 64);
  CHECK(commands[1].size == 1000);
  CHECK(static_cast<DeviceHostArea>(commands[2].area) == DeviceHostArea::call_output);
  CHECK(commands[2].offset == 96);
}

TEST_CASE("launches stand in line, as many as there is room for, and name module and kernel") {
  GpuFixture fixture;
  const NothingArgs args{7};
  for (int i = 0; i < 300; ++i)
    REQUIRE(orchid_launch(&fixture.call, &of_a_gpu, &args, sizeof args, 1000) == ORCHID_OK);
  CHECK(orchid_device_wait(&fixture.call) == ORCHID_OK);
  CHECK(fixture.process->most_in_line.load() <= most_waiting_launches);
  const DeviceCommand launch = fixture.process->commands().front();
  CHECK(launch.module == 3);
  CHECK(launch.generation == 4);
  CHECK(launch.size == 1000);
  CHECK(launch.args_size == sizeof args);
  CHECK(launch.name_length == std::string_view("of_a_gpu").size());
}

TEST_CASE("what the device refuses is an error with its words, and no memory is no memory") {
  GpuFixture fixture;
  const NothingArgs args{7};
  fixture.process->status = DeviceStatus::refused;
  CHECK(orchid_launch(&fixture.call, &of_a_gpu, &args, sizeof args, 1) == ORCHID_ERROR);
  CHECK(fixture.message() == "the driver's words");
  CHECK((fixture.page.refused.load() & refused_device) == 0);
  fixture.process->status = DeviceStatus::out_of_memory;
  CHECK(orchid_device_alloc(&fixture.call, 1 << 20) == nullptr);
  CHECK((fixture.page.refused.load() & refused_device) != 0);
  fixture.process->status = DeviceStatus::stopped;
  CHECK(orchid_launch(&fixture.call, &of_a_gpu, &args, sizeof args, 1) == ORCHID_STOP);
}

TEST_CASE("a call that has to stop does not wait for the device, but its end does") {
  GpuFixture fixture;
  const NothingArgs args{7};
  REQUIRE(orchid_launch(&fixture.call, &of_a_gpu, &args, sizeof args, 1) == ORCHID_OK);
  fixture.process->hangs = true;
  std::thread agent([&fixture] {
    while (fixture.process->commands().size() < 2) ::sched_yield();
    fixture.page.stop.store(1);
  });
  CHECK(orchid_device_wait(&fixture.call) == ORCHID_STOP);
  CHECK(orchid_device_wait(&fixture.call) == ORCHID_STOP);
  agent.join();
  fixture.process->hangs = false;
  fixture.begin_call(2);
  const auto bytes = some_bytes(100);
  std::vector<std::byte> back(bytes.size());
  void* memory = orchid_device_alloc(&fixture.call, bytes.size());
  REQUIRE(memory != nullptr);
  CHECK(orchid_device_write(&fixture.call, memory, bytes.data(), bytes.size()) == ORCHID_OK);
  CHECK(orchid_device_read(&fixture.call, back.data(), memory, back.size()) == ORCHID_OK);
  CHECK(back == bytes);
}

TEST_CASE("a worker without a seat waits for one, and begins its lane anew there") {
  GpuFixture fixture;
  REQUIRE(orchid_device_alloc(&fixture.call, 100) != nullptr);
  fixture.begin_call(2);
  fixture.process.reset();
  REQUIRE(transport::empty_lane(fixture.descriptors).has_value());
  fixture.page.device_seat.store(no_device_seat);
  std::thread agent([&fixture] {
    while (fixture.page.device_call.load() != 2) ::sched_yield();
    fixture.process.emplace(fixture.descriptors);
    fixture.page.device_seat.store(2);
  });
  CHECK(orchid_device_alloc(&fixture.call, 100) != nullptr);
  agent.join();
  CHECK(fixture.process->commands().size() == 1);

  fixture.begin_call(3);
  fixture.page.device_seat.store(no_device_seat);
  fixture.page.stop.store(3);
  const NothingArgs args{7};
  CHECK(orchid_launch(&fixture.call, &of_a_gpu, &args, sizeof args, 1) == ORCHID_STOP);
  CHECK(orchid_device_alloc(&fixture.call, 100) == nullptr);
  CHECK(fixture.page.refused.load() == 0);  // there may be enough memory
  CHECK(fixture.device.end_call().empty());
}

}  // namespace orchid::executor
