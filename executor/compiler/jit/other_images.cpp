#include "jit/other_images.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>
#include <iterator>

#include "jit/bitcode.h"
#include "jit/device_code.h"
#include "jit/diagnostics.h"
#include "jit/kernels.h"

namespace orchid::executor {
namespace {

void move_to(std::vector<std::string>& all, std::vector<std::string> some) {
  std::ranges::move(some, std::back_inserter(all));
}

std::vector<std::string> names_of_entries(llvm::Module& code) {
  std::vector<std::string> names;
  for (const llvm::Function* function : entry_functions(code))
    names.push_back(function->getName().substr(entry_prefix.size()).str());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> entry_differences(const module::Manifest& manifest, std::string_view host,
                                           llvm::Module& code, std::string_view other) {
  std::vector<std::string> problems;
  const auto names = names_of_entries(code);
  for (const module::Entry& entry : manifest.entries)
    if (!std::ranges::binary_search(names, entry.name))
      problems.push_back(
          fmt::format("entry '{}' is missing in the image for {}", entry.name, other));
  for (const std::string& name : names)
    if (!manifest.entry_index(name))
      problems.push_back(fmt::format("entry '{}' is missing in the image for {}", name, host));
  return problems;
}

std::vector<std::string> problems_of_image(const module::Image& image, std::string_view host,
                                           const module::Manifest& manifest) {
  const std::string architecture = module::architecture_of(image.triple);
  Diagnostics diagnostics;
  llvm::LLVMContext context;
  diagnostics.attach(context);
  const auto code = parse_image(image, context);
  if (!code) return {fmt::format("the image for {}: {}", architecture, code.error().message)};
  if (const auto read = diagnostics.result(); !read)
    return {fmt::format("the image for {}: {}", architecture, read.error().message)};
  KernelList list = read_kernels(**code);
  std::vector<std::string> problems = std::move(list.problems);
  for (std::string& problem : problems)
    problem = fmt::format("the image for {}: {}", architecture, problem);
  move_to(problems, kernel_differences(manifest.kernels, host, list.kernels, architecture));
  if (architecture != "nvptx64") {
    move_to(problems, entry_differences(manifest, host, **code, architecture));
  } else if (const auto missing = drop_unused_of_device(**code); !missing.empty()) {
    problems.push_back(describe_missing_on_device(missing));
  }
  return problems;
}

}  // namespace

std::vector<std::string> find_problems_of_other_images(const module::Container& container,
                                                       std::size_t host_image,
                                                       const module::Manifest& manifest) {
  std::vector<std::string> problems;
  const std::string host = module::architecture_of(container.images[host_image].triple);
  for (std::size_t i = 0; i < container.images.size(); ++i) {
    const module::Image& image = container.images[i];
    if (i == host_image || image.kind != module::ImageKind::bitcode) continue;
    move_to(problems, problems_of_image(image, host, manifest));
  }
  return problems;
}

}  // namespace orchid::executor
