#include "orchid/lease.h"

#include <algorithm>

#include "api/function_reference.h"
#include "foundation/files.h"
#include "lease/gateway_lease.h"
#include "lease/lease_access.h"
#include "lease/lease_threads.h"
#include "orchid/client.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid {
namespace {

std::uint16_t index_of(const sdk::LeaseCode& code, const std::string& entry) {
  const auto found = std::ranges::find(code.entries, entry);
  if (found != code.entries.end()) return static_cast<std::uint16_t>(found - code.entries.begin());
  throw Error({.kind = ErrorKind::not_found,
               .message = "the loaded module has no entry '" + entry + "'",
               .function = code.function});
}

void check(const LeaseOptions& options) {
  const auto refuse = [](std::string message) {
    throw Error({.kind = ErrorKind::bad_request, .message = std::move(message)});
  };
  const bool has_cores = std::ranges::all_of(options.alternatives,
                                             [](const WorkerSize& size) { return size.cores > 0; });
  if (options.workers == 0 || options.cores_per_worker == 0 || !has_cores)
    refuse("a lease needs at least one worker with one core");
  if (options.at_least > options.workers) refuse("at_least must not be more than workers");
  if (options.duration < std::chrono::seconds(1)) refuse("a lease lasts at least a second");
  if (options.lane != "auto" && options.lane != "local" && options.lane != "ucx" &&
      options.lane != "tcp")
    refuse(R"(lane is "auto", "local", "ucx" or "tcp", not ")" + options.lane + '"');
}

}  // namespace

Lease Client::lease(const LeaseOptions& options) {
  check(options);
  const TickMark began = TickMark::now();
  sdk::LeaseGrant grant = sdk::request_lease(*session_, options);
  auto source = std::make_shared<sdk::GatewayLease>(session_, grant.id);
  return sdk::LeaseAccess::lease(sdk::LeaseCore::open({.options = options,
                                                       .grant = std::move(grant),
                                                       .source = std::move(source),
                                                       .threads = lease_threads_->get(),
                                                       .began = began}));
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->release();
  core_ = std::move(other.core_);
  return *this;
}

Lease::~Lease() {
  if (core_) core_->release();
}

const std::string& Lease::id() const { return core_->id(); }
unsigned Lease::workers() const { return core_->ready_workers(); }
LeaseCapacity Lease::capacity() const { return core_->capacity(); }
void Lease::release() { core_->release(); }

LeasedFunction Lease::function(std::string_view name) {
  const sdk::Reference reference = sdk::split_reference(name);
  const FunctionInfo info = core_->source().describe(reference.function);
  const EntryInfo& entry = sdk::find_entry(info, reference);
  auto code = core_->load(info.version, info.name, UniqueFd());
  const std::uint16_t index = index_of(*code, entry.name);
  return sdk::LeaseAccess::function(core_, std::move(code), index, info.name + "." + entry.name);
}

LeasedFunction Lease::checked_function(std::string_view name, std::string_view signature) {
  const sdk::Reference reference = sdk::split_reference(name);
  const FunctionInfo info = core_->source().describe(reference.function);
  const EntryInfo& entry = sdk::find_entry(info, reference);
  sdk::check_signature(info, entry, signature);
  // The same version, also when another one was deployed meanwhile.
  auto code = core_->load(info.version, info.name, UniqueFd());
  const std::uint16_t index = index_of(*code, entry.name);
  return sdk::LeaseAccess::function(core_, std::move(code), index, info.name + "." + entry.name);
}

LeasedFunction Lease::function(const EmbeddedFunction& function) {
  return module(module_of(function)).function(function.name);
}

LeasedModule Lease::module(std::span<const std::byte> bytes) {
  if (bytes.size() > limits::module_size.value)
    throw Error({.kind = ErrorKind::too_large,
                 .message = "the module has " + to_string(ByteCount{bytes.size()}) +
                            "; the limit is " + to_string(limits::module_size)});
  auto file = make_sealed_memory("orchid-module", bytes);
  if (!file) throw Error({.kind = ErrorKind::system, .message = file.error().message});
  return sdk::LeaseAccess::module(core_, core_->load(digest_of(bytes), "", std::move(*file)));
}

LeasedFunction LeasedModule::function(std::string_view entry) const {
  std::string name(entry);
  if (name.empty() && entries_.size() == 1) name = entries_.front();
  if (name.empty())
    throw Error({.kind = ErrorKind::not_found,
                 .message = "the module has several entries",
                 .hint = "name one of them"});
  return sdk::LeaseAccess::function(core_, code_, index_of(*code_, name), name);
}

Buffer Lease::buffer(std::size_t size) { return sdk::LeaseAccess::buffer(core_->allocate(size)); }

Buffer::Buffer(std::unique_ptr<sdk::LaneRoom> room) : room_(std::move(room)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::~Buffer() = default;
std::span<std::byte> Buffer::bytes() const {
  return room_ == nullptr ? std::span<std::byte>{} : room_->bytes;
}
void Buffer::shrink(std::size_t size) {
  if (room_ != nullptr && size < room_->bytes.size()) room_->bytes = room_->bytes.first(size);
}

Output::Output(std::unique_ptr<sdk::HeldAnswer> answer) : answer_(std::move(answer)) {}
Output::Output(Output&&) noexcept = default;
Output& Output::operator=(Output&&) noexcept = default;
Output::~Output() = default;
std::span<const std::byte> Output::bytes() const {
  return answer_ == nullptr ? std::span<const std::byte>{} : answer_->answer.payload;
}
std::chrono::nanoseconds Output::run_time() const {
  return answer_ == nullptr ? std::chrono::nanoseconds{0} : answer_->answer.run_time;
}

}  // namespace orchid
