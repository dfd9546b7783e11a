#include "cuda/cuda_driver.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace orchid::executor::cuda {
namespace {

constexpr std::size_t log_bytes = 3 * 1024;  // of the driver's compiler; its first errors count

template <typename Handle, typename Pointer>
Handle handle_of(Pointer* pointer) {
  return static_cast<Handle>(std::bit_cast<std::uintptr_t>(pointer));
}
template <typename Pointer, typename Handle>
Pointer pointer_of(Handle handle) {
  return std::bit_cast<Pointer>(static_cast<std::uintptr_t>(handle));
}

std::string uuid_text(const Uuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < std::size(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

/// What a kernel's parameters can take in all: as many bytes, or as many parameters of a byte.
constexpr std::size_t most_parameter_bytes = 32 * 1024;

/// The driver copies what the kernel's PTX says that its parameters are, and that may be a user's:
/// however many and large it says they are, what is read is here, and zeros behind the arguments.
class LaunchParameters {
 public:
  LaunchParameters() : pointers_(most_parameter_bytes, zeros_.data()) {
    std::ranges::transform(values_, pointers_.begin(), [](auto& value) { return value.data(); });
  }
  LaunchParameters(const LaunchParameters&) = delete;
  LaunchParameters& operator=(const LaunchParameters&) = delete;
  ~LaunchParameters() = default;
  /// Valid until the next call.
  [[nodiscard]] void** set(const SubRangeLaunch& launch) {
    std::ranges::copy(*launch.args, values_[0].begin());
    std::memcpy(values_[1].data(), &launch.begin, sizeof(launch.begin));
    std::memcpy(values_[2].data(), &launch.end, sizeof(launch.end));
    return pointers_.data();
  }

 private:
  using Bytes = std::vector<std::byte>;
  Bytes zeros_ = Bytes(most_parameter_bytes);
  std::array<Bytes, 3> values_{zeros_, zeros_, zeros_};
  std::vector<void*> pointers_;
};

class CudaDriver final : public Driver {
 public:
  CudaDriver(std::unique_ptr<Library> library, DeviceDescription description, Stream queue)
      : cuda_(std::move(library)), description_(std::move(description)), queue_(queue) {}

  [[nodiscard]] const DeviceDescription& device() const override { return description_; }

  [[nodiscard]] DriverResult<ModuleHandle> load(const std::string& ptx) override {
    std::array<char, log_bytes> log{};
    std::array<int, 2> options{jit_error_log, jit_error_log_size};
    // A size is given as the pointer's value.
    std::array<void*, 2> values{log.data(), std::bit_cast<void*>(log.size() - 1)};
    Module module = nullptr;
    const Result result = cuda_->module_load(
        &module, ptx.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
    if (result == success) return handle_of<ModuleHandle>(module);
    DriverFailure failure = cuda_->failure(result, "the driver does not take the module's PTX");
    if (log.front() != '\0') failure.message += fmt::format("\n{}", log.data());
    return std::unexpected(std::move(failure));
  }

  void unload(ModuleHandle module) override {
    static_cast<void>(cuda_->module_unload(pointer_of<Module>(module)));
  }

  [[nodiscard]] DriverResult<DriverFunction> find(ModuleHandle module,
                                                  const std::string& symbol) override {
    Function function = nullptr;
    int most = 0;
    int blocks = 0;
    int threads = 0;
    Result result = cuda_->module_function(&function, pointer_of<Module>(module), symbol.c_str());
    if (result == success)
      result = cuda_->function_attribute(&most, function_threads_per_block, function);
    if (result == success)
      result = cuda_->suggest_block(&blocks, &threads, function, nullptr, 0, 0);
    if (result != success) return failed(result, "looking for the kernel '" + symbol + "'");
    return DriverFunction{.handle = handle_of<FunctionHandle>(function),
                          .suggested_threads = static_cast<std::uint32_t>(std::max(threads, 1)),
                          .suggested_blocks = static_cast<std::uint32_t>(std::max(blocks, 1)),
                          .most_threads = static_cast<std::uint32_t>(std::max(most, 1))};
  }

  [[nodiscard]] DriverResult<void> launch(const SubRangeLaunch& launch) override {
    // The driver copies the parameters before it returns.
    return check(
        cuda_->launch_kernel(pointer_of<Function>(launch.function), launch.blocks, 1, 1,
                             launch.threads, 1, 1, 0, queue_, parameters_.set(launch), nullptr),
        "launching a kernel");
  }

  [[nodiscard]] DriverResult<std::uint64_t> allocate(std::uint64_t size) override {
    Address address = 0;
    if (const Result result = cuda_->memory_allocate(&address, size); result != success)
      return failed(result, "allocating device memory");
    // What was there may be of a lane before, and is nobody else's business.
    if (const Result result = cuda_->memory_fill(address, 0, size, queue_); result != success) {
      static_cast<void>(cuda_->memory_free(address));
      return failed(result, "clearing device memory");
    }
    return address;
  }

  [[nodiscard]] DriverResult<void> free(std::uint64_t address) override {
    return check(cuda_->memory_free(address), "freeing device memory");
  }
  [[nodiscard]] DriverResult<void> copy_to_device(std::uint64_t address,
                                                  std::span<const std::byte> host) override {
    return check(cuda_->copy_to_device(address, host.data(), host.size(), queue_),
                 "copying to the device");
  }
  [[nodiscard]] DriverResult<void> copy_to_host(std::span<std::byte> host,
                                                std::uint64_t address) override {
    return check(cuda_->copy_to_host(host.data(), address, host.size(), queue_),
                 "copying from the device");
  }
  [[nodiscard]] DriverResult<void> pin(std::span<std::byte> host) override {
    return check(cuda_->host_register(host.data(), host.size(), 0), "registering host memory");
  }
  void unpin(std::span<std::byte> host) override {
    static_cast<void>(cuda_->host_unregister(host.data()));
  }

  [[nodiscard]] DriverResult<MarkHandle> make_mark() override {
    Event event = nullptr;
    if (const Result result = cuda_->event_create(&event, event_default); result != success)
      return failed(result, "making an event");
    return handle_of<MarkHandle>(event);
  }
  [[nodiscard]] DriverResult<void> place(MarkHandle mark) override {
    return check(cuda_->event_record(pointer_of<Event>(mark), queue_), "recording an event");
  }
  [[nodiscard]] DriverResult<bool> is_passed(MarkHandle mark) override {
    const Result result = cuda_->event_query(pointer_of<Event>(mark));
    if (result == success) return true;
    if (result == error_not_ready) return false;
    return failed(result, "running a kernel");
  }
  [[nodiscard]] DriverResult<std::chrono::nanoseconds> time_between(MarkHandle first,
                                                                    MarkHandle second) override {
    float milliseconds = 0;
    if (const Result result = cuda_->event_elapsed(&milliseconds, pointer_of<Event>(first),
                                                   pointer_of<Event>(second));
        result != success)
      return failed(result, "reading the time of a kernel");
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<float, std::milli>(milliseconds));
  }

 private:
  [[nodiscard]] std::unexpected<DriverFailure> failed(Result result, std::string_view step) const {
    return std::unexpected(cuda_->failure(result, step));
  }
  [[nodiscard]] DriverResult<void> check(Result result, std::string_view step) const {
    if (result != success) return failed(result, step);
    return {};
  }

  std::unique_ptr<Library> cuda_;
  DeviceDescription description_;
  Stream queue_;
  LaunchParameters parameters_;
};

std::expected<DeviceDescription, DriverAbsence> describe(const Library& cuda, Device device) {
  std::array<char, longest_device_name> model{};
  Uuid uuid{};
  std::size_t memory = 0;
  int multiprocessors = 0;
  int threads = 0;
  int major = 0;
  int minor = 0;
  const auto all = {
      cuda.device_name(model.data(), static_cast<int>(model.size()) - 1, device),
      cuda.device_uuid(&uuid, device),
      cuda.device_memory(&memory, device),
      cuda.device_attribute(&multiprocessors, attribute_multiprocessors, device),
      cuda.device_attribute(&threads, attribute_threads_per_block, device),
      cuda.device_attribute(&major, attribute_capability_major, device),
      cuda.device_attribute(&minor, attribute_capability_minor, device),
  };
  for (const Result result : all)
    if (result != success) return std::unexpected(cuda.absence(result, "asking what the GPU is"));
  return DeviceDescription{
      .driver = cuda.version(),
      .model = model.data(),
      .uuid = uuid_text(uuid),
      .architecture = fmt::format("sm_{}{}", major, minor),
      .memory = memory,
      .multiprocessors = static_cast<std::uint32_t>(std::max(multiprocessors, 1)),
      .most_threads = static_cast<std::uint32_t>(std::max(threads, 1))};
}

/// Waits until the mark is passed. The first kernel may take as long as the driver needs to load
/// its compiler.
DriverResult<void> await(Driver& driver, MarkHandle mark) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (true) {
    const auto passed = driver.is_passed(mark);
    if (!passed) return std::unexpected(passed.error());
    if (*passed) return {};
    if (std::chrono::steady_clock::now() > end)
      return driver_failed(DriverError::lost, "the first kernel has not ended within 20 s");
    ::poll(nullptr, 0, 1);
  }
}

/// Compiles a kernel, runs it, and looks at what it has stored.
DriverResult<void> run_first_kernel(Driver& driver) {
  constexpr std::uint64_t begin = 40;
  constexpr std::uint64_t end = 42;
  const auto module = driver.load(first_kernel_ptx());
  if (!module) return std::unexpected(module.error());
  const auto function = driver.find(*module, "orchid_kernel_first");
  if (!function) return std::unexpected(function.error());
  const auto memory = driver.allocate(sizeof(std::uint64_t));
  if (!memory) return std::unexpected(memory.error());
  KernelArgs args{};
  std::memcpy(args.data(), &*memory, sizeof(*memory));
  std::uint64_t stored = 0;
  auto done =
      driver.launch({.function = function->handle, .args = &args, .begin = begin, .end = end});
  if (done) done = driver.copy_to_host(std::as_writable_bytes(std::span(&stored, 1)), *memory);
  const auto mark = driver.make_mark();
  if (!mark) return std::unexpected(mark.error());
  if (done) done = driver.place(*mark);
  if (done) done = await(driver, *mark);
  if (done) done = driver.free(*memory);
  if (!done) return done;
  driver.unload(*module);
  if (stored != begin + end)
    return driver_failed(DriverError::lost, "the first kernel has stored another result");
  return {};
}

}  // namespace

const char* first_kernel_ptx() {
  // The oldest PTX that our compiler makes too, and an architecture that all newer ones can follow.
  return R"(.version 6.3
.target sm_50
.address_size 64
.visible .entry orchid_kernel_first(
  .param .align 8 .b8 orchid_kernel_first_param_0[8],
  .param .u64 orchid_kernel_first_param_1,
  .param .u64 orchid_kernel_first_param_2)
{
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [orchid_kernel_first_param_0];
  ld.param.u64 %rd2, [orchid_kernel_first_param_1];
  ld.param.u64 %rd3, [orchid_kernel_first_param_2];
  add.s64 %rd4, %rd2, %rd3;
  st.global.u64 [%rd1], %rd4;
  ret;
}
)";
}

std::expected<std::unique_ptr<Driver>, DriverAbsence> open_driver() {
  auto opened = Library::open();
  if (!opened) return std::unexpected(std::move(opened.error()));
  const Library& cuda = **opened;
  Device device = 0;
  if (const Result result = cuda.device_get(&device, 0); result != success)
    return std::unexpected(cuda.absence(result, "taking the GPU"));
  auto description = describe(cuda, device);
  if (!description) return std::unexpected(std::move(description.error()));
  Context context = nullptr;  // ends with the process
  Stream queue = nullptr;
  if (const Result result = cuda.context_create(&context, context_blocking_sync, device);
      result != success)
    return std::unexpected(cuda.absence(result, "making a context on the GPU"));
  if (const Result result = cuda.stream_create(&queue, stream_non_blocking); result != success)
    return std::unexpected(cuda.absence(result, "making a queue on the GPU"));
  auto driver = std::make_unique<CudaDriver>(std::move(*opened), std::move(*description), queue);
  if (auto ran = run_first_kernel(*driver); !ran)
    return std::unexpected(DriverAbsence{
        ran.error().error == DriverError::lost ? DeviceFault::lost : DeviceFault::refused,
        "the first kernel does not run: " + ran.error().message,
        "see the kernel's log (dmesg, lines of NVRM and Xid)"});
  return driver;
}

}  // namespace orchid::executor::cuda
