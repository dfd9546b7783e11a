// flow_run/deployed_functions.h: a flow is checked against the functions that are deployed.
#pragma once
#include <map>
#include <string>

#include "flow/checker.h"
#include "orchid/client.h"

namespace orchid::flow {

/// What workers of a function must have, by its reference; only of those that want more than one
/// core.
using FunctionNeeds = std::map<std::string, std::string>;  // "1 core, 1 GPU | 4 cores"

/// Asks for functions, as a check of one flow wants them. Used by one thread.
class DeployedFunctions {
 public:
  /// Null: nobody is asked, and the document's own word counts. The client outlives it.
  explicit DeployedFunctions(Client* client) : client_(client) {}
  /// Throws `orchid::Error`, unless there is no such function.
  [[nodiscard]] KnownFunction find(const std::string& reference);
  /// Whether a connected executor keeps data as files; also while none is connected that says so,
  /// as one may come. Throws as above.
  [[nodiscard]] bool may_keep_files();
  /// Whether one of them wants other workers than those with one core.
  [[nodiscard]] bool any_needs_more() const { return !needs_.empty(); }
  [[nodiscard]] const FunctionNeeds& needs() const { return needs_; }

 private:
  Client* client_;
  FunctionNeeds needs_;
};

/// Also of the flows that are its nodes: their files lie beside the one that names them, or in its
/// folders. Throws as above. `opened` gets the texts of these files, by the names under which
/// documents find them.
[[nodiscard]] Checked check_flow(const Document& document, DeployedFunctions& functions,
                                 std::map<std::string, std::string>* opened = nullptr);

}  // namespace orchid::flow
