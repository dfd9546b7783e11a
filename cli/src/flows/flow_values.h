// flows/flow_values.h: the values of a flow's inputs as people give them, and of its outputs.
#pragma once
#include <string>
#include <vector>

#include "flow/engine.h"
#include "flow/plan.h"
#include "foundation/result.h"
#include "orchid/client.h"
#include "terminal/documents.h"
#include "terminal/shell.h"

namespace orchid::cli {

/// `given` with the id of each data object in place of its name, as it is now: it stays the same
/// however long the flow runs. Throws `orchid::Error`.
[[nodiscard]] std::vector<std::string> with_data_ids(Client& client, const flow::Plan& plan,
                                                     std::vector<std::string> given);

/// Each of `given` is NAME=VALUE, a text or JSON as the input's type is, or NAME=@FILE: JSON, a
/// NumPy array (.npy), or what a text or bytes are. Errors: `bad_request`, naming all inputs that
/// are missing; those of reading files.
[[nodiscard]] Result<std::vector<flow::Value>> input_values(const flow::Plan& plan,
                                                            const std::vector<std::string>& given);
/// The same, where inputs may be missing: null.
[[nodiscard]] Result<std::vector<flow::Value>> known_values(const flow::Plan& plan,
                                                            const std::vector<std::string>& given);

/// The outputs as JSON by name.
[[nodiscard]] Result<Document> outputs_of(const flow::Plan& plan, const flow::Engine& engine);

/// A file for each in `folder`, which is made: NAME.json, or NAME for text and bytes. Returns the
/// files by name. Errors: those of writing.
[[nodiscard]] Result<Document> write_outputs(const flow::Plan& plan, const flow::Engine& engine,
                                             const std::string& folder);

}  // namespace orchid::cli
