#include "flows/flow_libraries.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "optimiser/library_process.h"
#include "processes/program_path.h"

namespace orchid::cli {

flow::OpenLibrary opener_of_libraries(const std::string& flow_file) {
  return [folder = std::filesystem::path(flow_file).parent_path()](
             const flow::PlannedOptimiser& planned) -> Result<std::unique_ptr<flow::Optimiser>> {
    auto programs = processes::own_program_directory();
    if (!programs) return fail(std::move(programs.error()));
    return flow::open_library(*programs / "orchid-optimiser", planned, folder);
  };
}

}  // namespace orchid::cli
