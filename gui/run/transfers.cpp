// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/transfers.h"

#include <QFileInfo>
#include <system_error>
#include <utility>

#include "engine/session/take_over.h"

namespace athanor {
namespace {

QString nameOf(const QString& path) {
  const QString name = QFileInfo(path).fileName();
  return name.isEmpty() ? path : name;
}

}  // namespace

bool isRunFolder(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path / "spec.json", error);
}

Transfers::Transfers(std::filesystem::path home, QObject* parent)
    : QObject(parent),
      m_home(std::move(home)),
      m_cancel(std::make_shared<CancelToken>()),
      m_thread("transfers") {}

Transfers::~Transfers() {
  m_cancel->request();
}

void Transfers::bring(const QString& path) {
  const std::filesystem::path from = path.toStdString();
  if (isRunFolder(from)) {
    begin(tr("Taking over %1").arg(nameOf(path)), tr("The run was not taken over"),
          [this, from](const CancelToken& cancel, const ProgressCallback& progress) {
            const std::int64_t id = take_over_run(m_home, from, cancel, progress);
            return [this, id] { emit tookOver(id); };
          });
    return;
  }
  begin(tr("Importing %1").arg(nameOf(path)), tr("The model was not imported"),
        [this, from](const CancelToken& cancel, const ProgressCallback& progress) {
          const ImportedModel made = import_model(m_home, from, {}, cancel, progress);
          return [this, made] { emit imported(made); };
        });
}

void Transfers::send(const std::filesystem::path& runFolder, const ExportRequest& request) {
  begin(tr("Exporting to %1").arg(QString::fromStdString(request.folder.filename().string())),
        tr("The model was not exported"),
        [this, runFolder, request](const CancelToken& cancel, const ProgressCallback& progress) {
          const ExportedModel made = export_run(runFolder, request, cancel, progress);
          return [this, made, request] { emit exported(made, request); };
        });
}

void Transfers::cancel() {
  m_cancel->request();
}

void Transfers::begin(const QString& title, const QString& failure, const Work& work) {
  if (m_busy) return;
  m_busy = true;
  m_title = title;
  m_cancel = std::make_shared<CancelToken>();
  emit busyChanged();
  const ProgressCallback progress = [this](const std::string&, std::int64_t done,
                                           std::int64_t total) {
    m_inbox.post([this, done, total] { emit progressed(done, total); });
  };
  m_thread.post([this, failure, work, progress, cancel = m_cancel] {
    std::function<void()> told;
    try {
      told = work(*cancel, progress);
    } catch (const Cancelled&) {
      told = [] {};
    } catch (const std::exception& error) {
      told = [this, failure, reason = QString::fromUtf8(error.what())] {
        emit failed(failure, reason);
      };
    }
    m_inbox.post([this, told] {
      end();
      told();
    });
  });
}

void Transfers::end() {
  m_busy = false;
  m_title.clear();
  emit busyChanged();
}

}  // namespace athanor
