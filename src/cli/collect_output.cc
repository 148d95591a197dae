#include "cli/collect_output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "cli/output.h"
#include "cli/session.h"
#include "text/json_text.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

constexpr std::chrono::seconds between_lines(60);

std::string time_text(bool as_utc) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (as_utc) {
    gmtime_r(&now, &parts);
  } else {
    localtime_r(&now, &parts);
  }
  char text[32];
  return {text,
          std::strftime(text, sizeof text, as_utc ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M:%S", &parts)};
}

// It is UTF-8 then.
std::string event_json(std::string_view text) { return json_text(printable(text)); }

/// Columns of the terminal; as few as any has where it does not tell.
size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string state_text(const StreamState& now, const StreamState& before, double seconds) {
  std::string text = fmt::format("{} records delivered, {:.0f} a second, {} in the spool ({})", now.delivered,
                                 static_cast<double>(now.delivered - before.delivered) / seconds, now.waiting,
                                 human_bytes(now.spool_bytes));
  if (now.rejected > 0) text += fmt::format(", {} rejected", now.rejected);
  if (now.lag_seconds >= 1) text += fmt::format(", {:.0f} s behind", now.lag_seconds);
  if (!now.trouble.empty()) text += ", " + beginning(now.trouble);
  return text;
}

}  // namespace

CollectOutput::CollectOutput(bool as_json)
    : as_json_(as_json), terminal_(!as_json && isatty(STDERR_FILENO) != 0) {}

CollectOutput::~CollectOutput() {
  MutexLock lock(mutex_);
  line_.clear();
  write({});
}

void CollectOutput::write(std::string text) {
  if (terminal_) text = "\r\x1b[K" + text + line_;
  // There is nobody to tell that it failed.
  static_cast<void>(std::fputs(text.c_str(), stderr));
  static_cast<void>(std::fflush(stderr));
}

void CollectOutput::tell(std::string_view stream, std::string_view message) {
  MutexLock lock(mutex_);
  if (as_json_) {
    write(fmt::format("{{\"time\":\"{}\",\"stream\":{},\"message\":{}}}\n", time_text(true),
                      event_json(stream), event_json(message)));
  } else {
    write(fmt::format("{} {}{}{}\n", time_text(false), printable(stream), stream.empty() ? "" : ": ",
                      printable(message)));
  }
}

void CollectOutput::show(const CollectState& state) {
  const auto now = Clock::now();
  if (before_.summaries.has_value() != state.summaries.has_value() ||
      !std::ranges::equal(before_.streams, state.streams, {}, &StreamState::name, &StreamState::name)) {
    before_ = state;  // the first one, or the first of another configuration
  }
  const double seconds = std::chrono::duration<double>(now - shown_).count();
  if (!terminal_ && now - shown_ < between_lines) return;
  std::string line;
  const auto add = [&](const std::string& name, const std::string& text, bool is_news) {
    if (terminal_) {
      line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", name, text);
    } else if (is_news) {
      tell(name, text);
    }
  };
  for (size_t i = 0; i < state.streams.size(); ++i) {
    const StreamState &stream = state.streams[i], &before = before_.streams[i];
    add(stream.name, state_text(stream, before, std::max(seconds, 0.001)),
        stream.delivered != before.delivered || stream.rejected != before.rejected || stream.waiting > 0);
  }
  if (state.summaries) {
    const SummaryState& jobs = *state.summaries;
    const std::string failed = jobs.failed > 0 ? fmt::format(", {} failed", jobs.failed) : "";
    add("summaries", fmt::format("{} jobs done, {} due{}", jobs.done, jobs.due, failed),
        jobs.due > 0 || jobs.done != before_.summaries->done);
  }
  before_ = state;
  shown_ = now;
  if (!terminal_) return;
  MutexLock lock(mutex_);
  // A longer one would not be taken away whole.
  line_ = line.substr(0, terminal_width() - 1);
  write({});
}

}  // namespace hailstone
