#include "collect/metrics.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace hailstone {
namespace {

constexpr unsigned most_connections = 16, idle_seconds = 10;

MHD_Result answer(MHD_Connection* connection, unsigned status, const std::string& body) {
  MHD_Response* const response =
      MHD_create_response_from_buffer(body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
  const MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

MHD_Result handle(void* server, MHD_Connection* connection, const char* url, const char* method, const char*,
                  const char*, size_t*, void**) {
  if (std::string_view(method) != "GET" && std::string_view(method) != "HEAD") {
    return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
  }
  if (std::string_view(url) != "/metrics") return answer(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n");
  const std::string text = static_cast<MetricsServer*>(server)->text();
  if (text.empty()) return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the collector is starting\n");
  return answer(connection, MHD_HTTP_OK, text);
}

}  // namespace

std::string metrics_text(const CollectState& state) {
  std::string text;
  const auto begin = [&text](std::string_view name, std::string_view type, std::string_view help) {
    text +=
        fmt::format("# HELP hailstone_collect_{0} {2}\n# TYPE hailstone_collect_{0} {1}\n", name, type, help);
  };
  const auto of_streams = [&](std::string_view name, std::string_view type, std::string_view help,
                              auto value) {
    begin(name, type, help);
    for (const StreamState& stream : state.streams) {
      text += fmt::format("hailstone_collect_{}{{stream=\"{}\"}} {}\n", name, stream.name, value(stream));
    }
  };
  of_streams("acknowledged_records_total", "counter", "Records that the spool has had.",
             [](const auto& stream) { return stream.acknowledged; });
  of_streams("delivered_records_total", "counter", "Of these, those that the table has taken.",
             [](const auto& stream) { return stream.delivered; });
  of_streams("rejected_records_total", "counter",
             "Records rejected since the start, also those that never were in the spool.",
             [](const auto& stream) { return stream.rejected; });
  of_streams("waiting_records", "gauge", "Records in the spool that are neither delivered nor rejected.",
             [](const auto& stream) { return stream.waiting; });
  of_streams("spool_bytes", "gauge", "Bytes of the spool's files.",
             [](const auto& stream) { return stream.spool_bytes; });
  of_streams("lag_seconds", "gauge", "How long the oldest of the waiting records has been waiting.",
             [](const auto& stream) { return fmt::format("{:.3f}", stream.lag_seconds); });
  of_streams("trouble", "gauge", "1 while something that goes wrong is tried again.",
             [](const auto& stream) { return stream.trouble.empty() ? 0 : 1; });
  if (!state.summaries) return text;
  const auto of_jobs = [&](std::string_view name, std::string_view type, std::string_view help,
                           uint64_t value) {
    begin(name, type, help);
    text += fmt::format("hailstone_collect_{} {}\n", name, value);
  };
  of_jobs("summary_jobs_done_total", "counter", "Jobs of summaries done since the start.",
          state.summaries->done);
  of_jobs("summary_jobs_failed_total", "counter", "Tries of jobs that failed since the start.",
          state.summaries->failed);
  of_jobs("summary_jobs_due", "gauge", "Jobs that wait to be run.", state.summaries->due);
  return text;
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(uint16_t port) {
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  errno = 0;
  server->daemon_ =
      MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, nullptr, nullptr, handle, server.get(),
                       MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, most_connections,
                       MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, MHD_OPTION_END);
  if (server->daemon_ == nullptr) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("cannot listen on 127.0.0.1:{} for --metrics: {}; choose another port", port,
                            std::strerror(errno)));
  }
  return server;
}

MetricsServer::~MetricsServer() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

uint16_t MetricsServer::port() const { return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port; }

void MetricsServer::set(std::string text) {
  MutexLock lock(mutex_);
  text_ = std::move(text);
}

std::string MetricsServer::text() const {
  MutexLock lock(mutex_);
  return text_;
}

}  // namespace hailstone
