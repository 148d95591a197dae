#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hailstone {
namespace {

constexpr auto between_updates = std::chrono::milliseconds(100);
constexpr uint64_t bar_width = 30;

std::string duration(double seconds) {
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

}  // namespace

Progress::Progress(std::string what, uint64_t all)
    : what_(std::move(what)), all_(all), terminal_(isatty(STDERR_FILENO) != 0), shown_(begun_) {}

Progress::~Progress() { clear(); }

void Progress::update(uint64_t done, const std::string& detail) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - shown_ < between_updates) return;
  shown_ = now;
  visible_ = true;
  std::string line = fmt::format("\r{}: ", what_);
  if (all_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(all_));
    const auto full = static_cast<uint64_t>(share * static_cast<double>(bar_width));
    line += fmt::format("[{:#<{}}{:.<{}}] {:3.0f} %", "", full, "", bar_width - full, share * 100);
    const double elapsed = std::chrono::duration<double>(now - begun_).count();
    if (share > 0.01) line += fmt::format(", {} left", duration(elapsed / share - elapsed));
  }
  if (!detail.empty()) line += fmt::format("{}{}", all_ > 0 ? ", " : "", detail);
  fmt::print(stderr, "{}\x1b[K", line);
  (void)std::fflush(stderr);
}

void Progress::clear() {
  if (!visible_) return;
  visible_ = false;
  fmt::print(stderr, "\r\x1b[K");
  (void)std::fflush(stderr);
}

}  // namespace hailstone
