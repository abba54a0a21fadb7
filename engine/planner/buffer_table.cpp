// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/planner/buffer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace athanor {
namespace {

/// The last moment at which the buffer is there.
std::int64_t last_moment(const TrainPlan& plan, const Arena::Record& buffer) {
  return buffer.end_moment == 0 ? plan.moments : buffer.end_moment - 1;
}

bool alive_at(const TrainPlan& plan, const Arena::Record& buffer, std::int64_t moment) {
  return buffer.first_moment <= moment && moment <= last_moment(plan, buffer);
}

}  // namespace

std::vector<MemoryMoment> memory_timeline(const TrainPlan& plan) {
  std::vector<std::int64_t> changes(static_cast<std::size_t>(plan.moments) + 2);
  for (const Arena::Record& buffer : plan.buffers) {
    changes[static_cast<std::size_t>(buffer.first_moment)] += buffer.size_bytes;
    changes[static_cast<std::size_t>(last_moment(plan, buffer)) + 1] -= buffer.size_bytes;
  }
  std::vector<MemoryMoment> timeline;
  std::int64_t bytes = 0;
  for (std::int64_t moment = 1; moment <= plan.moments; ++moment) {
    bytes += changes[static_cast<std::size_t>(moment)];
    timeline.push_back({moment, bytes});
  }
  return timeline;
}

Phase phase_at(const TrainPlan& plan, std::int64_t moment) {
  Phase phase = Phase::set_up;
  for (const Arena::PhaseStart& start : plan.phases) {
    if (start.moment < moment) phase = start.phase;
  }
  return phase;
}

std::vector<Arena::Record> buffers_at(const TrainPlan& plan, std::int64_t moment) {
  std::vector<Arena::Record> alive;
  for (const Arena::Record& buffer : plan.buffers) {
    if (alive_at(plan, buffer, moment)) alive.push_back(buffer);
  }
  return alive;
}

std::int64_t layer_at(const TrainPlan& plan, std::int64_t moment) {
  const Phase phase = phase_at(plan, moment);
  if (phase != Phase::forward && phase != Phase::backward) return -1;
  std::int64_t layer = -1;
  for (const Arena::Record& buffer : plan.buffers) {
    if (alive_at(plan, buffer, moment)) layer = std::max(layer, buffer.name.layer);
  }
  return layer;
}

std::vector<BufferGroup> groups_of(const std::vector<Arena::Record>& buffers) {
  std::vector<BufferGroup> groups;
  std::map<std::pair<std::string_view, MemoryRole>, std::size_t> known;
  for (const Arena::Record& buffer : buffers) {
    const auto [at, is_new] = known.try_emplace({buffer.name.what, buffer.role}, groups.size());
    if (is_new) groups.push_back({buffer.name.text(), buffer.role});
    BufferGroup& group = groups[at->second];
    if (++group.count > 1) group.name = buffer.name.what;
    group.bytes += buffer.size_bytes;
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &BufferGroup::bytes);
  return groups;
}

std::string buffer_table_csv(const TrainPlan& plan) {
  std::string text = "name,role,where,bytes,first_moment,last_moment,phase,at_peak\r\n";
  // Names are literals of the program: none has a quotation mark.
  for (const Arena::Record& buffer : plan.buffers) {
    text += fmt::format(
        "\"{}\",{},memory,{},{},{},{},{}\r\n", buffer.name.text(), name_of(buffer.role),
        buffer.size_bytes, buffer.first_moment, last_moment(plan, buffer),
        names_of(Phase{})[static_cast<std::size_t>(phase_at(plan, buffer.first_moment))],
        alive_at(plan, buffer, plan.memory.peak_moment) ? "yes" : "no");
  }
  for (const Arena::Record& buffer : plan.host_buffers) {
    text += fmt::format("\"{}\",{},file,{},1,{},{},no\r\n", buffer.name.text(),
                        name_of(buffer.role), buffer.size_bytes, plan.moments,
                        names_of(Phase{})[static_cast<std::size_t>(Phase::set_up)]);
  }
  return text;
}

}  // namespace athanor
