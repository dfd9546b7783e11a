#include "toolchain/inspection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "terminal/programs.h"

namespace orchid::cli {
namespace {

constexpr std::chrono::seconds longest_inspection{120};

void strip_end(std::string& text) { text.erase(text.find_last_not_of(" \r\n") + 1); }

/// Without the prefix that names the program and the file: whoever asked knows both.
std::string reasons(std::string text, const std::filesystem::path& module) {
  strip_end(text);
  for (const std::string& prefix : {std::string("orchid-compiler: "), module.string() + ": "})
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text.empty() ? "orchid-compiler gave no reason" : text;
}

}  // namespace

namespace {

/// What orchid-compiler prints for `module`.
Result<std::string> ask_compiler(const std::filesystem::path& module,
                                 const std::vector<std::string>& mode_and_gpu) {
  constexpr int rejected = 1;
  const auto programs = own_program_directory();
  if (!programs) return fail(programs.error());
  const auto compiler = *programs / "orchid-compiler";
  std::vector<std::string> command{compiler, mode_and_gpu.front(),
                                   std::filesystem::absolute(module)};
  command.insert(command.end(), mode_and_gpu.begin() + 1, mode_and_gpu.end());
  auto output = run_program({.command = std::move(command),
                             .capture_output = true,
                             .capture_errors = true,
                             .longest = longest_inspection});
  if (!output)
    return fail(
        std::move(output.error())
            .while_doing("inspecting the module; 'orchid doctor' looks at the installation"));
  if (output->status != 0) {
    const std::string why = reasons(std::move(output->errors), std::filesystem::absolute(module));
    if (output->status == rejected) return fail(ErrorCode::module_rejected, why);
    return fail(ErrorCode::internal,
                fmt::format("{} ended with status {}: {}", compiler.string(), output->status, why));
  }
  return std::move(output->output);
}

}  // namespace

Result<std::string> make_ptx(const std::filesystem::path& module, const std::string& gpu) {
  return ask_compiler(module, {"--ptx", gpu});
}

Result<Inspection> inspect_module(const std::filesystem::path& module) {
  auto output = ask_compiler(module, {"--inspect"});
  if (!output) return fail(std::move(output.error()));
  auto manifest = module::parse_manifest(*output);
  if (!manifest)
    return fail(std::move(manifest.error()).while_doing("reading what orchid-compiler says"));
  strip_end(*output);
  return Inspection{.manifest = std::move(*manifest), .json = std::move(*output)};
}

std::string describe(const module::Manifest& manifest) {
  std::string text;
  for (const module::Entry& entry : manifest.entries)
    text += fmt::format("  entry   {}  {}\n", entry.name, entry.signature.value_or("(bytes)"));
  for (const module::Kernel& kernel : manifest.kernels) {
    text += fmt::format("  kernel  {}  {} bytes of arguments", kernel.name, kernel.args_size);
    if (kernel.group_size != 0) text += fmt::format(", groups of {}", kernel.group_size);
    if (!kernel.on_cores) text += ", for GPUs only: no image for cores has it";
    text += '\n';
  }
  for (const module::Target& target : manifest.targets)
    text +=
        fmt::format("  target  {}  {}, {}\n", target.triple.empty() ? target.arch : target.triple,
                    target.kind, to_string(target.size));
  if (!manifest.undefined.empty())
    text += fmt::format("  needs   {}\n", fmt::join(manifest.undefined, " "));
  if (!manifest.effects.empty())
    text += fmt::format("  effects {}: its calls are never started twice\n",
                        fmt::join(manifest.effects, " "));
  return text;
}

}  // namespace orchid::cli
