// functions/function_documents.h: functions as the API's JSON.
#pragma once
#include <string>
#include <vector>

#include "functions/function_table.h"

namespace orchid::gateway {

[[nodiscard]] std::string version_json(const DeployedVersion& version);
[[nodiscard]] std::string function_json(const Function& function, const DeployedVersion& version);
[[nodiscard]] std::string function_list_json(const std::vector<const Function*>& functions);
[[nodiscard]] std::string version_list_json(const Function& function);

}  // namespace orchid::gateway
