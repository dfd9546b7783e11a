// functions/stage.h: where the acts are performed: a whole Orchid on two cores, as `orchid up`
// starts it, with a neighbour that is called all the time. One for all acts: whatever an act leaves
// behind is there for those that follow.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local_orchid.h"
#include "neighbour_watch.h"
#include "orchid/client.h"

namespace orchid::tests {

/// What came of an act.
struct Ending {
  std::string outcome;  // "ok", or as on the wire
  std::string words;    // output or message
  bool retryable = false;
  std::chrono::milliseconds took{0};
};

struct Act {
  std::string_view name;                         // of its file
  std::vector<std::string_view> outcomes{"ok"};  // any of these
  std::string_view words = {};                   // a piece of the output or the message
  std::chrono::milliseconds deadline{10'000};
  unsigned times = 1;  // it is called; each has to end as expected
};

class Stage {
 public:
  /// Made at the first use; throws std::runtime_error when Orchid does not start, and then always.
  static Stage& get();
  [[nodiscard]] static bool is_open();
  /// Ends it, with all that it started.
  static void close();

  /// Performs an act, and checks what came of it, what the neighbour saw meanwhile and that nothing
  /// is left over. Its checks are doctest's.
  void perform(const Act& act);
  /// Deploys the act, unless it is there, and calls it without input: it is loaded then.
  Ending load(std::string_view act, std::chrono::milliseconds deadline);
  Ending call(std::string_view act, std::chrono::milliseconds deadline);
  /// Nobody was disturbed since the last check, and nothing is left over of `act`.
  void check_neighbour(std::string_view act);
  void check_leftovers();
  /// Without calls no worker uses its core.
  void check_quiet();
  [[nodiscard]] Client& client() { return client_; }

  /// How long the neighbour's calls took during each act, as a table.
  [[nodiscard]] std::string figures() const;

 private:
  explicit Stage(LocalOrchid orchid);
  void deploy(std::string_view act);
  [[nodiscard]] std::vector<pid_t> workers() const;
  LocalOrchid orchid_;
  Client client_;
  std::optional<NeighbourWatch> neighbour_;
  std::size_t descriptors_of_executor_ = 0;  // before the first act
  std::map<std::string, bool, std::less<>> deployed_;
  std::vector<std::pair<std::string, std::vector<std::chrono::microseconds>>> figures_;
};

}  // namespace orchid::tests
