// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/app/transfer_desk.h"

#include <QDesktopServices>
#include <QFileInfo>
#include <QUrl>

#include "gui/pages/export_dialog.h"
#include "gui/run/attempt.h"
#include "widgets/banner.h"
#include "widgets/format.h"

namespace athanor {
namespace {

const QString kTalk = "talkToArrived";
const QString kShowFolder = "showFolder";

QString inOne(const std::vector<std::string>& sentences) {
  QStringList words;
  for (const std::string& sentence : sentences)
    words << QString::fromStdString(sentence);
  return words.join(' ');
}

/// The command that makes Ollama know the model.
QString ollamaCommand(const QString& folder) {
  return QString("ollama create %1 -f \"%2/Modelfile\"").arg(QFileInfo(folder).fileName(), folder);
}

}  // namespace

TransferDesk::TransferDesk(RunStore* store, AppSettings* settings, Banner* notice, QWidget* window)
    : QObject(window),
      m_store(store),
      m_settings(settings),
      m_notice(notice),
      m_window(window),
      m_transfers(store->home()) {
  connect(&m_transfers, &Transfers::imported, this, &TransferDesk::takeImported);
  connect(&m_transfers, &Transfers::tookOver, this, &TransferDesk::takeTakenOver);
  connect(&m_transfers, &Transfers::exported, this, &TransferDesk::takeExported);
  connect(&m_transfers, &Transfers::failed, this, &TransferDesk::showProblem);
  connect(m_notice, &Banner::actionTriggered, this, &TransferDesk::act);
}

void TransferDesk::bring(const QString& path) {
  if (m_transfers.busy()) {
    return showProblem(
        tr("One thing at a time"),
        tr("%1 is not done yet. Wait for it, or cancel it.").arg(m_transfers.title()));
  }
  m_notice->hide();
  m_transfers.bring(path);
}

void TransferDesk::bringOne(const QStringList& paths) {
  if (paths.size() == 1) return bring(paths.front());
  showProblem(tr("One thing at a time"),
              tr("Drop one GGUF file, or the folder that a model's files are in."));
}

void TransferDesk::exportRun(qint64 runId) {
  std::optional<RunRecord> run;
  std::vector<CheckpointRow> checkpoints;
  const QString problem = attempt([&] {
    run = m_store->run(runId);
    checkpoints = m_store->checkpoints(runId);
  });
  if (!problem.isEmpty()) return showProblem(tr("The run could not be read"), problem);
  if (!run || checkpoints.empty()) return;
  auto* dialog =
      new ExportDialog(*run, std::move(checkpoints), m_settings->exportFolder(), m_window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this,
          [this, runId, dialog] { send(runId, dialog->request()); });
  dialog->open();
}

void TransferDesk::send(qint64 runId, const ExportRequest& request) {
  if (m_transfers.busy()) {
    return showProblem(
        tr("One thing at a time"),
        tr("%1 is not done yet. Wait for it, or cancel it.").arg(m_transfers.title()));
  }
  m_settings->setExportFolder(QString::fromStdString(request.folder.parent_path().string()));
  m_notice->hide();
  m_transfers.send(m_store->run_folder(runId), request);
}

void TransferDesk::takeImported(const ImportedModel& model) {
  m_arrived = model.record.id;
  const std::string_view kind = name_of(model.architecture);
  m_notice->showMessage(
      {.kind = BannerKind::success,
       .title = tr("%1 was imported").arg(QString::fromStdString(model.record.name)),
       .text = tr("A %1 model of %2 parameters, kept as %3. %4")
                   .arg(QString::fromLatin1(kind.data(), static_cast<qsizetype>(kind.size())),
                        formatCount(static_cast<double>(model.record.parameters)),
                        model.weights == DType::bf16 ? "BF16" : "FP32", inOne(model.notices))
                   .trimmed(),
       .details = {},
       .actions = {{.id = kTalk, .label = tr("Talk to it")}}});
  emit told(m_notice->content().title);
  emit arrived(m_arrived);
}

void TransferDesk::takeTakenOver(qint64 runId) {
  m_arrived = runId;
  m_notice->showMessage({.kind = BannerKind::success,
                         .title = tr("The run was taken over"),
                         .text = tr("With its checkpoints and curves; the folder stays as it is."),
                         .details = {},
                         .actions = {{.id = kTalk, .label = tr("Talk to it")}}});
  emit told(m_notice->content().title);
  emit arrived(runId);
}

void TransferDesk::takeExported(const ExportedModel& model, const ExportRequest& request) {
  m_written = QString::fromStdString(request.folder.string());
  QStringList words{QString::fromStdString(model.notice)};
  words << tr("%1 of weights in %2.").arg(formatBytes(model.weights_bytes), m_written);
  if (request.kind == FileKind::gguf)
    words << tr("To use it with Ollama: %1").arg(ollamaCommand(m_written));
  m_notice->showMessage({.kind = BannerKind::success,
                         .title = tr("Step %1 was exported").arg(formatThousands(model.step)),
                         .text = words.join(' ').trimmed(),
                         .details = {},
                         .actions = {{.id = kShowFolder, .label = tr("Show in folder")}}});
  emit told(m_notice->content().title);
}

void TransferDesk::showProblem(const QString& title, const QString& text) {
  m_notice->showMessage(
      {.kind = BannerKind::danger, .title = title, .text = text, .details = {}, .actions = {}});
  emit told(title + ". " + text);
}

void TransferDesk::act(const QString& id) {
  if (id == kTalk) {
    m_notice->hide();
    emit talkRequested(m_arrived);
  } else if (id == kShowFolder) {
    QDesktopServices::openUrl(QUrl::fromLocalFile(m_written));
  }
}

}  // namespace athanor
