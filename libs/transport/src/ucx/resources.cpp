#include "ucx/resources.h"

#include <dlfcn.h>
#include <uct/api/uct.h>

#include <string>
#include <type_traits>

namespace orchid::transport {
namespace {

/// The functions of libuct that we call; the library stays loaded, as libucp does.
struct UctLibrary {
  decltype(&uct_query_components) query_components;
  decltype(&uct_release_component_list) release_component_list;
  decltype(&uct_component_query) component_query;
  decltype(&uct_md_config_read) md_config_read;
  decltype(&uct_config_release) config_release;
  decltype(&uct_md_open) md_open;
  decltype(&uct_md_close) md_close;
  decltype(&uct_md_query_tl_resources) query_resources;
  decltype(&uct_release_tl_resource_list) release_resources;
};

Result<UctLibrary> open_uct() {
  void* handle = ::dlopen("libuct.so.0", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return fail(ErrorCode::unsupported, "the Debian package libucx0 is not complete (" +
                                            std::string(why != nullptr ? why : "libuct") + ")");
  }
  UctLibrary uct{};
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr) missing = name;
  };
  find(uct.query_components, "uct_query_components");
  find(uct.release_component_list, "uct_release_component_list");
  find(uct.component_query, "uct_component_query");
  find(uct.md_config_read, "uct_md_config_read");
  find(uct.config_release, "uct_config_release");
  find(uct.md_open, "uct_md_open");
  find(uct.md_close, "uct_md_close");
  find(uct.query_resources, "uct_md_query_tl_resources");
  find(uct.release_resources, "uct_release_tl_resource_list");
  if (!missing.empty()) return fail(ErrorCode::unsupported, "this UCX has no " + missing);
  return uct;
}

/// A domain that cannot be opened has no resources.
void add_of_domain(const UctLibrary& uct, uct_component_h component, const char* domain,
                   std::vector<UcxResource>& found) {
  uct_md_config_t* config = nullptr;
  if (uct.md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return;
  uct_md_h md = nullptr;
  const ucs_status_t opened = uct.md_open(component, domain, config, &md);
  uct.config_release(config);
  if (opened != UCS_OK) return;
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct.query_resources(md, &resources, &count) == UCS_OK) {
    for (const uct_tl_resource_desc_t& resource : std::span(resources, count))
      if (resource.dev_type == UCT_DEVICE_TYPE_NET)
        found.push_back({resource.tl_name, resource.dev_name});
    uct.release_resources(resources);
  }
  uct.md_close(md);
}

void add_of_component(const UctLibrary& uct, uct_component_h component,
                      std::vector<UcxResource>& found) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct.component_query(component, &attributes) != UCS_OK) return;
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (domains.empty() || uct.component_query(component, &attributes) != UCS_OK) return;
  for (const uct_md_resource_desc_t& domain : domains)
    add_of_domain(uct, component, domain.md_name, found);
}

}  // namespace

Result<std::vector<UcxResource>> find_resources() {
  static const Result<UctLibrary> library = open_uct();
  if (!library) return fail(library.error());
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (library->query_components(&components, &count) != UCS_OK)
    return fail(ErrorCode::system, "UCX does not list its components");
  std::vector<UcxResource> found;
  for (uct_component_h component : std::span(components, count))
    add_of_component(*library, component, found);
  library->release_component_list(components);
  return found;
}

}  // namespace orchid::transport
