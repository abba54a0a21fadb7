// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a run's end or a trouble looks like as a banner, with the button that mends it.

#include <optional>

#include "engine/store/run_store.h"
#include "widgets/banner.h"

namespace athanor {

/// Ids of the banner's actions.
inline constexpr const char* kTalkAction = "talk";
inline constexpr const char* kResumeAction = "resume";
inline constexpr const char* kResumeSlowerAction = "resume-slower";

/// A tenth: enough to leave the region where the loss blew up.
inline constexpr double kSlowerRate = 0.1;

/// nullopt when there is nothing to say of the run as it is. `nonFinite`: it ended since the loss
/// or a gradient was no longer a number. `newest` is its newest checkpoint.
std::optional<BannerContent> runNews(const RunRecord& record, bool nonFinite,
                                     std::optional<std::int64_t> newest);

BannerContent bannerOf(const Notice& notice);

/// The record's problem speaks of values that are no longer numbers.
bool saysNonFinite(const RunRecord& record);

}  // namespace athanor
