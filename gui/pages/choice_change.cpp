// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/choice_change.h"

#include <QCoreApplication>
#include <QStandardItemModel>
#include <cmath>

#include "widgets/format.h"

namespace athanor {
namespace {

/// What rounds to no percent.
constexpr double kNothing = 5e-3;

QString withSign(bool less, const QString& amount) {
  return (less ? QString(QChar(0x2212)) : QStringLiteral("+")) + amount;
}

}  // namespace

QString changeOf(const std::optional<ChoiceCost>& cost, const Estimate& estimate) {
  if (!cost) return {};
  const std::int64_t more = cost->peak_bytes - estimate.need->plan.memory.peak_bytes;
  if (more == 0) return {};
  const QString bytes = withSign(more < 0, formatBytes(std::abs(more)));
  if (!estimate.speed || cost->tokens_per_second == 0) return bytes;
  const double gain = cost->tokens_per_second / estimate.speed->tokens_per_second - 1;
  if (std::abs(gain) < kNothing) return bytes;
  const QString percent = withSign(gain < 0, formatPercent(std::abs(gain), 0));
  return QCoreApplication::translate("athanor::ChoiceChange", "%1, %2 speed").arg(bytes, percent);
}

void offerFp8(QComboBox& products, bool offered) {
  const auto item = static_cast<int>(Products::fp8);
  qobject_cast<QStandardItemModel*>(products.model())->item(item)->setEnabled(offered);
  products.setItemData(
      item,
      offered ? QString()
              : QCoreApplication::translate(
                    "athanor::ChoiceChange",
                    "Needs a graphics card of compute capability 8.9 or newer, such as a GeForce "
                    "RTX 40 or 50"),
      Qt::ToolTipRole);
}

}  // namespace athanor
