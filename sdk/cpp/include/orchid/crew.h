// orchid/crew.h: workers that send calls on to each other.
//
//   orchid::Client client;
//   orchid::Crew crew = client.crew({.workers = 4});
//   orchid::CrewFunction chase = crew.function("chase");
//   orchid::Reply end = chase.invoke(1, input);  // begins at member 1, and ends at whichever it is
//
// A function of a crew says orchid_forward (orchid/function.h), and its call goes on at another
// member. The last one answers this program directly. A process that forks must not use a crew, nor
// anything that came from it, in the child.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "orchid/embedded.h"
#include "orchid/error.h"
#include "orchid/invocation.h"
#include "orchid/lease.h"

/// In the program, at namespace scope: `orchid_source_E` is the source's part of the entry E, whose
/// file is linked with it (orchid_add_functions does that).
#define ORCHID_DECLARE_SOURCE(name)                                                          \
  extern "C"                                                                                 \
      __attribute__((weak)) std::size_t orchid_source_size_##name(const void*, std::size_t); \
  extern "C" __attribute__((weak)) std::int32_t orchid_source_fill_##name(                   \
      const void*, std::size_t, void*, std::size_t*);                                        \
  inline const ::orchid::SourcePart orchid_source_##name{&orchid_source_size_##name,         \
                                                         &orchid_source_fill_##name};

namespace orchid {

namespace sdk {
class CrewCore;
struct CrewModule;
struct CrewAccess;
}  // namespace sdk

struct CrewOptions {
  unsigned workers = 2;   // the crew's members: 2 to 64
  unsigned at_least = 0;  // so many of them will do, 2 at least; 0: all of them, or none
  unsigned cores_per_worker = 1;
  std::uint64_t memory = 0;  // bytes for each member; 0: what the site gives
  Wait wait = Wait::adaptive;
  std::chrono::milliseconds duration{60'000};  // renewed for as long as the Crew lives
  std::chrono::milliseconds within{10'000};    // so long it may take to get the workers
  /// "local": all members at one executor of this host. "auto": wherever there is room, also on
  /// several hosts; members of different executors reach each other over the network.
  std::string lane = "local";
};

struct CrewCallOptions {
  std::chrono::nanoseconds deadline{0};  // from now to the result, waiting included; 0: 60 s
  bool at_most_once = false;             // never begun twice, also when a member is lost
  std::stop_token stop{};                // cancels the call, wherever it is
  std::uint32_t hops = 1'000'000;        // so often it may go on; at most 1 000 000
  /// Its path comes with the reply, and with the log of its error; `orchid explain` and `orchid
  /// logs` show it for the crew's lease. Costs each step some microseconds.
  bool trace = false;
};

/// An entry of a module that all members have loaded. A cheap value; any thread. All members throw
/// `orchid::Error`.
class CrewFunction {
 public:
  /// Begins the call at `member` (1 to the number of members) and waits for the output of whichever
  /// ends it. The input, and each output, has at most 64 KiB.
  Reply invoke(unsigned member, std::span<const std::byte> input,
               const CrewCallOptions& options = {}) const;
  Reply invoke(unsigned member, std::string_view input, const CrewCallOptions& options = {}) const;
  /// The same, and returns at once. The future throws as `invoke` does.
  [[nodiscard]] std::future<Reply> async(unsigned member, std::span<const std::byte> input,
                                         const CrewCallOptions& options = {}) const;
  [[nodiscard]] std::future<Reply> async(unsigned member, std::string_view input,
                                         const CrewCallOptions& options = {}) const;

  /// "N.E", for messages.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend struct sdk::CrewAccess;
  CrewFunction(std::shared_ptr<sdk::CrewCore> core, std::shared_ptr<sdk::CrewModule> module,
               std::uint16_t entry, std::string name)
      : core_(std::move(core)), module_(std::move(module)), entry_(entry), name_(std::move(name)) {}
  std::shared_ptr<sdk::CrewCore> core_;      // shared: it may outlive the Crew, and then refuses
  std::shared_ptr<sdk::CrewModule> module_;  // shared with the crew
  std::uint16_t entry_;
  std::string name_;
};

/// The source's part of an entry: ORCHID_SOURCE_SIZE and ORCHID_SOURCE_FILL in orchid/function.h.
/// Either may be null.
struct SourcePart {
  std::size_t (*size)(const void* source, std::size_t source_size) = nullptr;
  std::int32_t (*fill)(const void* source, std::size_t source_size, void* input,
                       std::size_t* size) = nullptr;
};

/// One member of a crew, as a place where calls begin. A cheap value; any thread. All members throw
/// `orchid::Error`.
class CrewMember {
 public:
  [[nodiscard]] unsigned number() const { return number_; }

  /// Writes the input into `room`, in place, and returns how many bytes it has written.
  using Fill = std::function<std::size_t(std::span<std::byte> room)>;
  /// As CrewFunction::invoke, but for the input: `fill` writes it to where the member reads it, so
  /// that nothing is copied. It runs when the call begins, and again when the call begins again,
  /// in any thread, while the crew's other calls wait to be begun: it must not use the crew. What
  /// it throws, this throws.
  Reply invoke_in_place(const CrewFunction& function, const Fill& fill,
                        const CrewCallOptions& options = {}) const;
  /// The same by the part of the function's module that is the source's, which this program is
  /// linked with (ORCHID_DECLARE_SOURCE). What is missing in `part` is done as function.h says.
  Reply invoke_in_place(const CrewFunction& function, const SourcePart& part,
                        std::span<const std::byte> source,
                        const CrewCallOptions& options = {}) const;

 private:
  friend class Crew;
  CrewMember(std::shared_ptr<sdk::CrewCore> core, unsigned number)
      : core_(std::move(core)), number_(number) {}
  std::shared_ptr<sdk::CrewCore> core_;  // shared with the crew
  unsigned number_;
};

/// The right to a crew until it is released, which the destructor does. When a member is lost, the
/// crew is formed anew, and calls that were under way are begun again, unless `at_most_once`: what
/// functions keep in globals is lost then, at all members. A movable handle; any thread. All
/// members throw `orchid::Error`; `lease_ended` once it has been released.
class Crew {
 public:
  Crew(Crew&&) noexcept = default;
  Crew& operator=(Crew&&) noexcept;
  ~Crew();

  /// Of the lease that it has now.
  [[nodiscard]] std::string id() const;
  /// As many as it was granted: from `at_least` to `workers`. Another lease may have other ones.
  [[nodiscard]] unsigned members() const;
  /// From 1 to the number of members.
  [[nodiscard]] CrewMember member(unsigned number) const;
  /// How often it was formed: 1 as long as no member was lost.
  [[nodiscard]] unsigned formations() const;
  /// Process ids by member, from 1, for tools that look at them; empty while it is being formed.
  [[nodiscard]] std::vector<std::int64_t> pids() const;

  /// A deployed function: "N", "N.E" or "N@<version>". Asks the gateway once and returns when all
  /// members have loaded it. Error `limit_exceeded`: a crew has at most 64 modules.
  [[nodiscard]] CrewFunction function(std::string_view name);
  /// A function of this program, which need not be deployed: `crew.function(orchid_embedded_step)`.
  [[nodiscard]] CrewFunction function(const EmbeddedFunction& function);
  /// An entry of a module that need not be deployed. Empty: the only entry.
  [[nodiscard]] CrewFunction function(std::span<const std::byte> module, std::string_view entry);

  /// Ends all calls with `lease_ended` and gives the workers back. Again: changes nothing.
  void release();

 private:
  friend struct sdk::CrewAccess;
  explicit Crew(std::shared_ptr<sdk::CrewCore> core) : core_(std::move(core)) {}
  std::shared_ptr<sdk::CrewCore> core_;  // shared with functions
};

}  // namespace orchid
