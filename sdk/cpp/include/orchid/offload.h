// orchid/offload.h: a range of independent work on this process's threads and on whatever workers
// can be had, without waiting for them.
//
//   std::vector<double> price(std::span<const Option> options);   // with ORCHID_DECLARE_FUNCTION
//
//   orchid::OffloadPool pool;
//   pool.map<price>(options, prices);   // prices[i] belongs to options[i]
//
// No gateway, no free worker, a worker that is slow, dies or is taken back: it all ends with the
// same results, at worst computed here.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "orchid/client.h"
#include "orchid/embedded.h"
#include "orchid/lease.h"
#include "orchid/native_twin.h"

namespace orchid {

namespace sdk {
class OffloadCrew;
struct OffloadAccess;
}  // namespace sdk

/// [first, last)
struct OffloadRange {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
  friend bool operator==(const OffloadRange&, const OffloadRange&) = default;
};

struct OffloadOptions {
  unsigned local_threads = 0;  // the caller of `run` included; 0: as many as it may use cores
  LeaseOptions lease{.workers = 1, .at_least = 1, .within = std::chrono::milliseconds(1000)};
  ClientOptions client{};
};

/// What became of a range.
struct OffloadReport {
  std::size_t local_items = 0;
  std::size_t worker_items = 0;
  std::size_t pieces = 0;
  std::size_t repeated = 0;  // pieces computed here while a worker had them, too
  std::size_t failed = 0;    // pieces that failed on a worker
  unsigned workers = 0;      // calls at a time that were made to workers
};

/// Work in bytes, where `map` and `run` of a function are not enough. All members are called by
/// several threads at a time, for different ranges, until the run is over. What they throw ends the
/// run and is thrown by it.
struct OffloadWork {
  /// Makes a result count: called at most once for each result, and for each index once in all.
  using Apply = std::function<void()>;

  std::size_t count = 0;
  const EmbeddedFunction* function = nullptr;
  std::function<std::size_t(OffloadRange)> input_size;
  std::function<void(OffloadRange, std::span<std::byte>)> write_input;
  /// A worker's answer. An `orchid::Error` says that it is none; the range is computed here then.
  std::function<Apply(OffloadRange, Output)> receive;
  /// Computes it here, but changes nothing that others see before `Apply`: a worker may have been
  /// first.
  std::function<Apply(OffloadRange)> compute;
};

/// Looks for workers from its construction on, in a thread of its own, and keeps them until its
/// end. `run` and `map` may be called by any thread, one at a time: a second one waits. The
/// destructor waits for a request to the gateway that is on its way.
class OffloadPool {
 public:
  explicit OffloadPool(const OffloadOptions& options = {});
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;
  ~OffloadPool();

  OffloadReport run(const OffloadWork& work);

  /// Calls `Function` for ranges of [0, count): `arguments(range)` gives its arguments as a tuple,
  /// `apply(range, result)` takes what it returns. Both as OffloadWork has it.
  template <auto* Function, typename Arguments, typename Apply>
  OffloadReport run(std::size_t count, Arguments arguments, Apply apply);

  /// outputs[i] = what `Function`, from a span to a vector of the same length, makes of inputs[i],
  /// with `rest` as its further arguments. Error `bad_request`: it returns another number.
  template <auto* Function, typename In, typename Out, typename... Rest>
  OffloadReport map(std::span<const In> inputs, std::span<Out> outputs, const Rest&... rest);
  template <auto* Function, typename In, typename Out, typename... Rest>
  OffloadReport map(const std::vector<In>& inputs, std::vector<Out>& outputs, const Rest&... rest) {
    return map<Function>(std::span<const In>(inputs), std::span<Out>(outputs), rest...);
  }

  /// Calls at a time that workers take now, for programs that show it.
  [[nodiscard]] unsigned workers() const;

 private:
  friend struct sdk::OffloadAccess;
  explicit OffloadPool(std::unique_ptr<sdk::OffloadCrew> crew);
  std::unique_ptr<sdk::OffloadCrew> crew_;
};

namespace sdk {

template <typename T>
struct WireView {  // how a result is read where the worker wrote it
  using Type = T;
};
template <typename T>
struct WireView<std::vector<T>> {
  using Type = std::span<const T>;
};

[[noreturn]] void throw_bad_output(const EmbeddedFunction& function, const std::string& problem);
[[noreturn]] void throw_length_mismatch(const EmbeddedFunction& function, std::size_t items,
                                        std::size_t results);

template <typename View>
View decode_output(const EmbeddedFunction& function, const Output& output) {
  values::Decoder decoder(output.bytes());
  View view{};
  if (!decoder.read(view) || !decoder.finish()) throw_bad_output(function, decoder.problem());
  return view;
}

template <typename Tuple>
std::size_t encoded_size(const Tuple& arguments) {
  return std::apply(
      [](const auto&... each) { return (std::size_t{0} + ... + values::encoded_size(each)); },
      arguments);
}

template <typename Tuple>
void encode_into(std::byte* room, const Tuple& arguments) {
  std::apply([&](const auto&... each) { ((room = values::encode(room, each)), ...); }, arguments);
}

}  // namespace sdk

template <auto* Function, typename Arguments, typename Apply>
OffloadReport OffloadPool::run(std::size_t count, Arguments arguments, Apply apply) {
  using Result = typename CallerTypes<std::remove_pointer_t<decltype(Function)>>::Result;
  using View = typename sdk::WireView<Result>::Type;
  const EmbeddedFunction& function = embedded<Function>();
  OffloadWork work;
  work.count = count;
  work.function = &function;
  work.input_size = [&](OffloadRange range) { return sdk::encoded_size(arguments(range)); };
  work.write_input = [&](OffloadRange range, std::span<std::byte> room) {
    sdk::encode_into(room.data(), arguments(range));
  };
  work.receive = [&](OffloadRange range, Output output) -> OffloadWork::Apply {
    auto held = std::make_shared<Output>(std::move(output));  // shared: a std::function is copied
    const View view = sdk::decode_output<View>(function, *held);
    return [&apply, range, view, held] { apply(range, view); };
  };
  work.compute = [&](OffloadRange range) -> OffloadWork::Apply {
    auto result = std::make_shared<Result>(std::apply(
        [](auto&&... each) { return call_twin<Function>(std::forward<decltype(each)>(each)...); },
        arguments(range)));
    return [&apply, range, result] { apply(range, View(*result)); };
  };
  return run(work);
}

template <auto* Function, typename In, typename Out, typename... Rest>
OffloadReport OffloadPool::map(std::span<const In> inputs, std::span<Out> outputs,
                               const Rest&... rest) {
  if (inputs.size() != outputs.size())
    sdk::throw_length_mismatch(embedded<Function>(), inputs.size(), outputs.size());
  return run<Function>(
      inputs.size(),
      [&](OffloadRange range) {
        return std::tuple<std::span<const In>, const Rest&...>(
            inputs.subspan(range.first, range.size()), rest...);
      },
      [&](OffloadRange range, std::span<const Out> results) {
        if (results.size() != range.size())
          sdk::throw_length_mismatch(embedded<Function>(), range.size(), results.size());
        std::copy(results.begin(), results.end(),
                  outputs.begin() + static_cast<std::ptrdiff_t>(range.first));
      });
}

}  // namespace orchid
