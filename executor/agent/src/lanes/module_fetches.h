// lanes/module_fetches.h: modules that a client is asked to send once more, or to keep, and who
// waits for that.
#pragma once
#include <set>
#include <string>

#include "foundation/unique_fd.h"
#include "lanes/client_questions.h"

namespace orchid::executor {

/// What a client has sent, or nothing if it was to keep something.
struct FetchedModule {
  UniqueFd bytes;
  std::string digest;  // as the client says: whoever compiles them looks
  bool made = false;   // by a call of its crew, at another executor
  /// Of what was made: the bytes are constants for the module with this digest. Empty: they are a
  /// module.
  std::string base = {};
};

/// By digest, or however they are named.
class ModuleFetches : public ClientQuestions<FetchedModule> {
 public:
  using Fetched = Told;
  /// `done`: what a client has not done when it is late.
  explicit ModuleFetches(const char* done = "sent the module") : ClientQuestions(done) {}
};

/// All that a session has asked its client.
struct OpenQuestions {
  ModuleFetches fetches;
  ModuleFetches look_ups;  // by other names; none of them is loaded for the client itself
  ModuleFetches keepings{"taken the module"};                       // what the client is to keep
  ClientQuestions<std::uint32_t> places{"said where the data is"};  // members, by data
  std::set<std::string>
      kept;  // by the client: digests of modules that the worker's calls have made

  void clear() {
    fetches.clear();
    look_ups.clear();
    keepings.clear();
    places.clear();
    kept.clear();
  }
  void expire(MonotonicTime now) {
    fetches.expire(now);
    look_ups.expire(now);
    keepings.expire(now);
    places.expire(now);
  }
};

}  // namespace orchid::executor
