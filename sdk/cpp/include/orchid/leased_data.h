// orchid/leased_data.h: data objects for the calls of a lease.
//
//   orchid::LeasedData numbers = lease.data("numbers");
//   auto mean = lease.function<double(orchid::Data<double>)>("mean");   // orchid/function.hpp
//   double m = mean.call({.data = {numbers}});                          // nothing is copied
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace orchid {

namespace sdk {
struct LeasedObject;
struct LeaseAccess;
}  // namespace sdk

/// One version of a data object, for all calls that are to be given it. A cheap value; any thread.
/// It keeps nothing: an object that is deleted, or whose time is over, is gone, and calls that are
/// given it then end as `data_lost`.
class LeasedData {
 public:
  [[nodiscard]] const std::string& id() const;
  /// "climate@3", or the id of one without a name.
  [[nodiscard]] const std::string& label() const;
  [[nodiscard]] std::uint64_t size() const;  // in bytes

 private:
  friend struct sdk::LeaseAccess;
  explicit LeasedData(std::shared_ptr<const sdk::LeasedObject> object)
      : object_(std::move(object)) {}
  std::shared_ptr<const sdk::LeasedObject> object_;  // shared with the calls that are given it
};

}  // namespace orchid
