// lanes/module_fetches.h: modules that a client is asked to send once more, and who waits for them.
#pragma once
#include <string>

#include "foundation/unique_fd.h"
#include "lanes/client_questions.h"

namespace orchid::executor {

/// What a client has sent.
struct FetchedModule {
  UniqueFd bytes;
  std::string digest;  // as the client says: whoever compiles them looks
};

/// By digest, or however they are named.
class ModuleFetches : public ClientQuestions<FetchedModule> {
 public:
  using Fetched = Told;
  ModuleFetches() : ClientQuestions("sent the module") {}
};

/// All that a session has asked its client.
struct OpenQuestions {
  ModuleFetches fetches;
  ModuleFetches look_ups;  // by other names; none of them is loaded for the client itself
  ClientQuestions<std::uint32_t> places{"said where the data is"};  // members, by data

  void clear() {
    fetches.clear();
    look_ups.clear();
    places.clear();
  }
  void expire(MonotonicTime now) {
    fetches.expire(now);
    look_ups.expire(now);
    places.expire(now);
  }
};

}  // namespace orchid::executor
