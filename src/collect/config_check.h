// What is wrong with a configuration, as far as it can be told without collecting: the sources, the server,
// the tables. Nothing is written.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/stop.h"

namespace hailstone {

struct Finding {
  std::string name;  // of the stream or summary
  std::string text;
  bool is_error = true;
};

/// An error for all that is wrong, and one that is none for each stream that is right. Waits for nothing but
/// answers of the server.
std::vector<Finding> check_config(const CollectConfig& config, const Stop& stop);

}  // namespace hailstone
