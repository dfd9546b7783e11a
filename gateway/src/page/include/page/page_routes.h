// page/page_routes.h: the page for people, at / and /page/; /v1/page: who has logged in there.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/task.h"
#include "http/routes.h"
#include "page/page_files.h"
#include "page/page_gate.h"
#include "page/page_sessions.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class PageRoutes final : public Routes {
 public:
  struct Parts {
    const PageGate& gate;
    PageSessions& sessions;
    const std::vector<std::string>& addresses;  // "http://127.0.0.1:41523"
    Poster here;
  };
  explicit PageRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void add_files(Router& router);
  using Check = std::optional<Response> (PageGate::*)(const Request&) const;
  [[nodiscard]] Handler showing(const PageFile& file, Check refuse) const;
  void make_link(Request& request, const Reply& reply);
  void log_in(Request& request, const Reply& reply);
  void show_session(Request& request, const Reply& reply);
  void log_out(Request& request, const Reply& reply);

  Parts parts_;
};

}  // namespace orchid::gateway
