// The entry points of the fake driver. Their types are those of executor/device, whose test
// compares them with NVIDIA's header.
#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cuda/cuda_abi.h"
#include "device_memory_arena.h"
#include "orders.h"
#include "ptx_text.h"
#include "system_calls.h"
#include "work_queue.h"

namespace orchid::executor::cuda {

struct ModuleBody {
  std::map<std::string, std::size_t> kernels;
  std::map<std::string, std::unique_ptr<FunctionBody>> functions;
};
struct FunctionBody {
  std::string name;  // without "orchid_kernel_"
  fake_cuda::KernelWork::Twin twin = nullptr;
  std::size_t args_size = 0;
};
struct EventBody {
  std::atomic<bool> passed{true};
  std::chrono::nanoseconds time{0};  // written before `passed`
};

namespace {

constexpr int default_version = 12040;
constexpr long default_memory = 256L << 20;
constexpr std::size_t host_alignment = 4096;
constexpr int suggested_threads = 64;
constexpr int suggested_blocks = 4;
constexpr Result error_invalid_value = 1;
constexpr Result error_invalid_ptx = 218;
constexpr Result error_operating_system = 304;
constexpr Result error_not_found = 500;
constexpr Result error_registered = 712;
constexpr Result error_not_registered = 713;
constexpr std::string_view kernel_prefix = "orchid_kernel_";

/// Never destroyed, as a driver is not.
struct Driver {
  fake_cuda::Orders orders;
  fake_cuda::Arena memory;
  fake_cuda::WorkQueue queue;
  std::vector<void*> twins;
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> registered;
};
Driver& driver() {
  static auto* const only = new Driver();
  return *only;
}

int devices() { return static_cast<int>(driver().orders.number("devices").value_or(1)); }

/// Copies between registered memory and memory that is not are refused, as by the real one.
bool is_mixed(const void* host, std::size_t size) {
  const std::scoped_lock lock(driver().mutex);
  const auto begin = std::bit_cast<std::uintptr_t>(host);
  return std::ranges::any_of(driver().registered, [&](const auto& range) {
    const auto end = range.first + range.second;
    const bool touches = begin < end && range.first < begin + size;
    return touches && (begin < range.first || begin + size > end);
  });
}

/// What a kernel may take; a card without a screen has no watchdog.
std::chrono::nanoseconds longest_kernel() {
  const auto limit = driver().orders.number("watchdog");
  return limit ? std::chrono::milliseconds(*limit) : std::chrono::nanoseconds::max();
}

/// So much time goes by, or as much as the watchdog leaves.
void pass(std::chrono::nanoseconds time) {
  Driver& d = driver();
  const auto most = longest_kernel();
  d.queue.pass(std::min(time, most));
  if (time > most) d.queue.fail(error_launch_timeout);
}

void run_kernel(const FunctionBody& function, const std::vector<std::byte>& args,
                std::uint64_t begin, std::uint64_t end) {
  Driver& d = driver();
  while (d.orders.of_kernel("hang", function.name) && d.queue.error() == 0)
    pass(std::chrono::hours(1));
  if (d.queue.error() != 0) return;
  if (const auto error = d.orders.of_kernel("fail", function.name))
    return d.queue.fail(static_cast<int>(*error));
  const auto start = std::chrono::steady_clock::now();
  if (!fake_cuda::run_guarded(
          {.twin = function.twin, .args = args.data(), .begin = begin, .end = end}))
    return d.queue.fail(error_illegal_address);
  if (const auto slow = d.orders.of_kernel("slow", function.name))
    pass(std::chrono::nanoseconds(*slow) * static_cast<std::int64_t>(end - begin));
  else
    d.queue.count(std::chrono::steady_clock::now() - start);
}

}  // namespace

extern "C" {

Result cuInit(unsigned) {
  Driver& d = driver();
  d.orders.open(std::getenv("CUDA_FAKE_ORDERS"));
  if (const auto error = d.orders.number("init")) return static_cast<Result>(*error);
  if (devices() == 0) return error_no_device;
  if (!fake_cuda::can_initialise()) return error_operating_system;
  // It stays open where that is allowed.
  if (const auto file = d.orders.find("open"))
    static_cast<void>(::open(file->c_str(), O_RDONLY | O_CLOEXEC));
  d.twins.push_back(::dlopen(nullptr, RTLD_NOW));
  const char* const names = std::getenv("CUDA_FAKE_TWINS");
  std::string_view rest = names == nullptr ? "" : names;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    if (void* const twin = ::dlopen(std::string(rest.substr(0, end)).c_str(), RTLD_NOW))
      d.twins.push_back(twin);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return success;
}

Result cuDriverGetVersion(int* version) {
  driver().orders.open(std::getenv("CUDA_FAKE_ORDERS"));
  *version = static_cast<int>(driver().orders.number("driver").value_or(default_version));
  return success;
}

Result cuDeviceGetCount(int* count) {
  *count = devices();
  return success;
}

Result cuDeviceGet(Device* device, int index) {
  if (index < 0 || index >= devices()) return error_invalid_device;
  *device = index;
  return success;
}

Result cuDeviceGetName(char* name, int length, Device) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const bool is_slice = visible != nullptr && std::string_view(visible).starts_with("MIG-");
  std::strncpy(name, is_slice ? "Fake GPU MIG 1g.5gb" : "Fake GPU",
               static_cast<std::size_t>(length));
  return success;
}

Result cuDeviceGetUuid_v2(Uuid* uuid, Device) {
  for (std::size_t i = 0; i < std::size(uuid->bytes); ++i) uuid->bytes[i] = static_cast<char>(i);
  return success;
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, Device) {
  *bytes = static_cast<std::size_t>(driver().orders.number("memory").value_or(default_memory));
  return success;
}

Result cuDeviceGetAttribute(int* value, int attribute, Device) {
  switch (attribute) {
    case attribute_threads_per_block:
      *value = 1024;
      return success;
    case attribute_multiprocessors:
      *value = 2;
      return success;
    case attribute_capability_major:
      *value = 8;
      return success;
    case attribute_capability_minor:
      *value = 0;
      return success;
    default:
      return error_invalid_value;
  }
}

Result cuCtxCreate_v2(Context* context, unsigned, Device) {
  Driver& d = driver();
  if (const auto error = d.orders.number("context")) return static_cast<Result>(*error);
  if (!fake_cuda::can_make_context()) return error_operating_system;
  const auto bytes = d.orders.number("memory").value_or(default_memory);
  if (!d.memory.reserve(static_cast<std::uint64_t>(bytes))) return error_out_of_memory;
  if (const auto word = d.orders.number("left_behind"))
    d.memory.leave(static_cast<std::uint64_t>(*word));
  d.queue.start();
  *context = std::bit_cast<Context>(&d);
  return success;
}

Result cuModuleLoadDataEx(Module* module, const void* image, unsigned options, int* names,
                          void** values) {
  Driver& d = driver();
  if (d.queue.error() != 0) return d.queue.error();
  auto body = std::make_unique<ModuleBody>();
  body->kernels = fake_cuda::read_kernels(static_cast<const char*>(image));
  auto log = d.orders.find("refuse");
  if (!log && body->kernels.empty()) log = "ptxas fatal : this is no PTX with an entry";
  if (log) {
    char* text = nullptr;
    std::size_t size = 0;
    for (unsigned i = 0; i < options; ++i) {
      if (names[i] == jit_error_log) text = static_cast<char*>(values[i]);
      if (names[i] == jit_error_log_size) size = std::bit_cast<std::size_t>(values[i]);
    }
    if (text != nullptr && size != 0) log->copy(text, size);
    return error_invalid_ptx;
  }
  if (const auto time = d.orders.number("load_time"))
    std::this_thread::sleep_for(std::chrono::milliseconds(*time));
  *module = body.release();
  return success;
}

Result cuModuleUnload(Module module) {
  delete module;
  return success;
}

Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  const auto known = module->kernels.find(name);
  if (known == module->kernels.end()) return error_not_found;
  void* twin = nullptr;
  for (void* const library : driver().twins)
    if (twin == nullptr) twin = ::dlsym(library, name);
  if (twin == nullptr && std::string_view(name) == "orchid_kernel_first")
    twin = std::bit_cast<void*>(+[](const void* args, std::uint64_t begin, std::uint64_t end) {
      **static_cast<std::uint64_t* const*>(args) = begin + end;
    });
  if (twin == nullptr) return error_not_found;
  std::string_view short_name = name;
  if (short_name.starts_with(kernel_prefix)) short_name.remove_prefix(kernel_prefix.size());
  auto& body = module->functions[name];
  body = std::make_unique<FunctionBody>(
      FunctionBody{.name = std::string(short_name),
                   .twin = std::bit_cast<fake_cuda::KernelWork::Twin>(twin),
                   .args_size = known->second});
  *function = body.get();
  return success;
}

Result cuFuncGetAttribute(int* value, int, Function) {
  *value = 1024;
  return success;
}

Result cuOccupancyMaxPotentialBlockSize(int* blocks, int* threads, Function, std::size_t (*)(int),
                                        std::size_t, int) {
  *blocks = suggested_blocks;
  *threads = suggested_threads;
  return success;
}

Result cuLaunchKernel(Function function, unsigned blocks, unsigned, unsigned, unsigned threads,
                      unsigned, unsigned, unsigned, Stream, void** parameters, void**) {
  Driver& d = driver();
  if (d.queue.error() != 0) return d.queue.error();
  if (blocks == 0 || threads == 0 || threads > 1024) return error_invalid_value;
  if (const auto error = d.orders.of_kernel("refuse_launch", function->name))
    return static_cast<Result>(*error);
  std::vector<std::byte> args(std::max<std::size_t>(function->args_size, 1));
  std::memcpy(args.data(), parameters[0], function->args_size);
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::memcpy(&begin, parameters[1], sizeof(begin));
  std::memcpy(&end, parameters[2], sizeof(end));
  d.queue.add([body = *function, args = std::move(args), begin, end] {
    run_kernel(body, args, begin, end);
  });
  return success;
}

Result cuMemAlloc_v2(Address* address, std::size_t size) {
  Driver& d = driver();
  if (d.queue.error() != 0) return d.queue.error();
  const auto memory = d.orders.find("out_of_memory") ? std::nullopt : d.memory.allocate(size);
  if (!memory) return error_out_of_memory;
  *address = *memory;
  return success;
}

Result cuMemFree_v2(Address address) {
  Driver& d = driver();
  if (d.queue.error() != 0) return d.queue.error();
  return d.memory.free(address) ? success : error_invalid_value;
}

Result cuMemsetD8Async(Address address, unsigned char value, std::size_t size, Stream) {
  Driver& d = driver();
  if (!d.memory.has(address, size)) return error_invalid_value;
  if (!d.orders.find("no_fill"))
    d.queue.add([=] { std::memset(std::bit_cast<void*>(address), value, size); });
  return success;
}

Result cuMemcpyHtoDAsync_v2(Address address, const void* host, std::size_t size, Stream) {
  Driver& d = driver();
  if (d.queue.error() != 0) return d.queue.error();
  if (!d.memory.has(address, size) || is_mixed(host, size)) return error_invalid_value;
  d.queue.add([=] { std::memcpy(std::bit_cast<void*>(address), host, size); });
  return success;
}

Result cuMemcpyDtoHAsync_v2(void* host, Address address, std::size_t size, Stream) {
  Driver& d = driver();
  if (d.queue.error() != 0) return d.queue.error();
  if (!d.memory.has(address, size) || is_mixed(host, size)) return error_invalid_value;
  d.queue.add([=] { std::memcpy(host, std::bit_cast<const void*>(address), size); });
  return success;
}

Result cuMemHostRegister_v2(void* host, std::size_t size, unsigned) {
  Driver& d = driver();
  if (d.queue.error() != 0) return d.queue.error();
  if (d.orders.find("no_register")) return error_out_of_memory;
  const std::scoped_lock lock(d.mutex);
  const auto begin = std::bit_cast<std::uintptr_t>(host);
  for (const auto& [other, bytes] : d.registered)
    if (begin < other + bytes && other < begin + size) return error_registered;
  d.registered.emplace(begin, size);
  return success;
}

Result cuMemHostUnregister(void* host) {
  const std::scoped_lock lock(driver().mutex);
  return driver().registered.erase(std::bit_cast<std::uintptr_t>(host)) == 1 ? success
                                                                             : error_not_registered;
}

Result cuStreamCreate(Stream* stream, unsigned) {
  *stream = std::bit_cast<Stream>(&driver().queue);
  return success;
}

Result cuStreamSynchronize(Stream) {
  driver().queue.wait_for_all();
  return driver().queue.error();
}

/// Like malloc'ed memory to this driver. It stays until the process ends.
Result cuMemHostAlloc(void** host, std::size_t size, unsigned) {
  *host = std::aligned_alloc(host_alignment, (size + host_alignment - 1) & ~(host_alignment - 1));
  return *host == nullptr ? error_out_of_memory : success;
}

Result cuEventCreate(Event* event, unsigned) {
  *event = new EventBody();
  return success;
}

Result cuEventRecord(Event event, Stream) {
  Driver& d = driver();
  if (d.queue.error() != 0) return d.queue.error();
  event->passed = false;
  d.queue.add([event, &d] {
    event->time = d.queue.now();
    event->passed = true;
  });
  return success;
}

Result cuEventQuery(Event event) {
  if (const Result error = driver().queue.error(); error != 0) return error;
  return event->passed ? success : error_not_ready;
}

Result cuEventElapsedTime(float* milliseconds, Event first, Event second) {
  *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  return success;
}

Result cuGetErrorName(Result error, const char** name) {
  switch (error) {
    case error_out_of_memory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      return success;
    case error_no_device:
      *name = "CUDA_ERROR_NO_DEVICE";
      return success;
    case error_ecc_uncorrectable:
      *name = "CUDA_ERROR_ECC_UNCORRECTABLE";
      return success;
    case error_invalid_ptx:
      *name = "CUDA_ERROR_INVALID_PTX";
      return success;
    case error_not_found:
      *name = "CUDA_ERROR_NOT_FOUND";
      return success;
    case error_illegal_address:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      return success;
    case error_launch_out_of_resources:
      *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
      return success;
    case error_launch_timeout:
      *name = "CUDA_ERROR_LAUNCH_TIMEOUT";
      return success;
    default:
      *name = nullptr;
      return error_invalid_value;
  }
}

Result cuGetErrorString(Result error, const char** text) {
  *text = "the fake driver was told so";
  if (error == error_illegal_address) *text = "an illegal memory access was encountered";
  if (error == error_launch_timeout) *text = "the launch timed out and was terminated";
  return success;
}

}  // extern "C"

// The fake has the entry points as they are called.
#define FAKE_CUDA_CHECK(name, symbol, ...) \
  static_assert(std::is_same_v<decltype(&symbol), Result (*)(__VA_ARGS__)>);
ORCHID_CUDA_ENTRY_POINTS(FAKE_CUDA_CHECK)
#undef FAKE_CUDA_CHECK

}  // namespace orchid::executor::cuda
