// How far a collector is, for Prometheus: its text format, over HTTP to programs of the same machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "collect/collector.h"

struct MHD_Daemon;

namespace hailstone {

/// Prometheus's text format 0.0.4.
std::string metrics_text(const CollectState& state);

/// Answers GET /metrics on 127.0.0.1, on a thread of its own: with status 503 until there is a text, which
/// any thread may set.
class MetricsServer {
 public:
  /// Port 0: any that is free.
  static Result<std::unique_ptr<MetricsServer>> start(uint16_t port);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  uint16_t port() const;
  void set(std::string text);
  std::string text() const;

 private:
  MetricsServer() = default;
  MHD_Daemon* daemon_ = nullptr;
  mutable Mutex mutex_;
  std::string text_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace hailstone
