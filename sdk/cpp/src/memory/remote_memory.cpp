#include <algorithm>
#include <utility>
#include <vector>

#include "memory/memory_core.h"
#include "orchid/client.h"
#include "orchid/memory.h"

namespace orchid {
namespace {

using lane_client::MemoryClient;
using Step = MemoryClient::Step;

transport::MemoryRows rows_of(const MemoryRows& rows) {
  return {.offset = rows.offset, .row = rows.row, .stride = rows.stride, .count = rows.count};
}

void run_steps(sdk::MemoryCore& core, std::span<const Step> steps) {
  if (auto done = core.client().run(steps); !done)
    throw sdk::memory_error(done.error(), core.client().host());
}

std::uint64_t change(sdk::MemoryCore& core, const MemoryClient::Atomic& atomic) {
  const auto before = core.client().change(atomic);
  if (before) return *before;
  const lane_client::AtomicFailure& failure = before.error();
  if (!failure.may_have_happened) throw sdk::memory_error(failure.why, core.client().host());
  throw Error({.kind = ErrorKind::outcome_unknown,
               .message = "an atomic operation may have happened, or not: " + failure.why.message,
               .node = core.client().host()});
}

}  // namespace

class MemoryGet::State {
 public:
  State(std::shared_ptr<sdk::MemoryCore> core, MemoryClient::Range range)
      : core_(std::move(core)), range_(range) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { core_->client().forget(range_); }
  [[nodiscard]] bool ready() { return core_->client().is_finished(range_); }
  void wait() {
    if (auto done = core_->client().finish(range_); !done)
      throw sdk::memory_error(done.error(), core_->client().host());
  }

 private:
  std::shared_ptr<sdk::MemoryCore> core_;  // shared with the handles
  MemoryClient::Range range_;
};

MemoryGet::MemoryGet(std::unique_ptr<State> state) : state_(std::move(state)) {}
MemoryGet::MemoryGet(MemoryGet&& other) noexcept = default;
MemoryGet& MemoryGet::operator=(MemoryGet&& other) noexcept = default;
MemoryGet::~MemoryGet() = default;
bool MemoryGet::ready() { return state_->ready(); }
void MemoryGet::wait() { state_->wait(); }

class MemoryBatch::State {
 public:
  explicit State(std::shared_ptr<sdk::MemoryCore> core) : core_(std::move(core)) {}
  void add(const Step& step) { steps_.push_back(step); }
  void run() { run_steps(*core_, std::exchange(steps_, {})); }

 private:
  std::shared_ptr<sdk::MemoryCore> core_;  // shared with the handles
  std::vector<Step> steps_;
};

MemoryBatch::MemoryBatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
MemoryBatch::MemoryBatch(MemoryBatch&& other) noexcept = default;
MemoryBatch& MemoryBatch::operator=(MemoryBatch&& other) noexcept = default;
MemoryBatch::~MemoryBatch() = default;
MemoryBatch& MemoryBatch::put(std::uint64_t offset, std::span<const std::byte> bytes) {
  return put(MemoryRows{.offset = offset, .row = bytes.size()}, bytes);
}
MemoryBatch& MemoryBatch::get(std::uint64_t offset, std::span<std::byte> bytes) {
  return get(MemoryRows{.offset = offset, .row = bytes.size()}, bytes);
}
MemoryBatch& MemoryBatch::put(const MemoryRows& rows, std::span<const std::byte> bytes) {
  state_->add({.rows = rows_of(rows), .source = bytes});
  return *this;
}
MemoryBatch& MemoryBatch::get(const MemoryRows& rows, std::span<std::byte> bytes) {
  state_->add({.rows = rows_of(rows), .target = bytes});
  return *this;
}
void MemoryBatch::run() { state_->run(); }

const std::string& RemoteMemory::id() const { return core_->id(); }
std::uint64_t RemoteMemory::size() const { return core_->client().size().value; }
const std::string& RemoteMemory::host() const { return core_->client().host(); }

void RemoteMemory::put(std::uint64_t offset, std::span<const std::byte> bytes) {
  put(MemoryRows{.offset = offset, .row = bytes.size()}, bytes);
}
void RemoteMemory::get(std::uint64_t offset, std::span<std::byte> bytes) {
  get(MemoryRows{.offset = offset, .row = bytes.size()}, bytes);
}
void RemoteMemory::put(const MemoryRows& rows, std::span<const std::byte> bytes) {
  const Step step{.rows = rows_of(rows), .source = bytes};
  run_steps(*core_, {&step, 1});
}
void RemoteMemory::get(const MemoryRows& rows, std::span<std::byte> bytes) {
  const Step step{.rows = rows_of(rows), .target = bytes};
  run_steps(*core_, {&step, 1});
}

MemoryGet RemoteMemory::get_async(std::uint64_t offset, std::span<std::byte> bytes) {
  const auto range =
      core_->client().begin({.rows = {.offset = offset, .row = bytes.size()}, .target = bytes});
  if (!range) throw sdk::memory_error(range.error(), host());
  return MemoryGet(std::make_unique<MemoryGet::State>(core_, *range));
}

MemoryBatch RemoteMemory::batch() {
  return MemoryBatch(std::make_unique<MemoryBatch::State>(core_));
}

std::uint64_t RemoteMemory::fetch_add(std::uint64_t offset, std::uint64_t add) {
  return change(*core_, {.op = transport::MemoryOp::fetch_add, .offset = offset, .operand = add});
}

std::uint64_t RemoteMemory::compare_swap(std::uint64_t offset, std::uint64_t expected,
                                         std::uint64_t desired) {
  return change(*core_, {.op = transport::MemoryOp::compare_swap,
                         .offset = offset,
                         .operand = desired,
                         .expected = expected});
}

void RemoteMemory::fence() {
  if (auto done = core_->client().fence(); !done) throw sdk::memory_error(done.error(), host());
}

void RemoteMemory::release() { core_->release(); }

RemoteMemory Client::memory(const MemoryOptions& options) {
  sdk::MemoryGrant grant = sdk::request_memory(*session_, options);
  const std::string id = grant.id;
  try {
    return RemoteMemory(sdk::MemoryCore::connect(session_, std::move(grant), options,
                                                 sdk::MemoryCore::Keeps::the_lease));
  } catch (const Error&) {
    try {
      sdk::release_memory(*session_, id);
    } catch (const Error&) {  // it expires; why it is of no use is what matters
    }
    throw;
  }
}

RemoteMemory Client::attach_memory(std::string_view lease, const MemoryOptions& options) {
  const std::string id(lease);
  // Only who renews a lease is shown its key; who keeps it may have a longer time in mind.
  MemoryOptions lasting = options;
  lasting.duration = std::max(options.duration, sdk::find_memory(*session_, id).expires_in);
  sdk::MemoryGrant grant = sdk::renew_memory(*session_, id, lasting.duration);
  return RemoteMemory(sdk::MemoryCore::connect(session_, std::move(grant), lasting,
                                               sdk::MemoryCore::Keeps::nothing));
}

MemoryInfo Client::reserve_memory(const MemoryOptions& options) {
  return sdk::describe_memory(sdk::request_memory(*session_, options));
}

void Client::keep_memory(std::string_view lease, std::chrono::milliseconds duration) {
  (void)sdk::renew_memory(*session_, std::string(lease), duration);
}

}  // namespace orchid
