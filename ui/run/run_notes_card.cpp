// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_notes_card.h"

#include <QEvent>
#include <QFileInfo>
#include <QFormLayout>
#include <QLineEdit>
#include <QPlainTextEdit>

#include "ui/widgets/plain_label.h"

namespace plimsoll::ui {

RunNotesCard::RunNotesCard(QWidget* parent)
    : Card(tr("Notes"), parent),
      title_(new QLineEdit(this)),
      tags_(new QLineEdit(this)),
      note_(new QPlainTextEdit(this)) {
    title_->setAccessibleName(tr("Name"));
    title_->setMaxLength(static_cast<int>(most_title_bytes / 4));
    tags_->setAccessibleName(tr("Tags"));
    tags_->setPlaceholderText(tr("baseline, lr sweep"));
    note_->setAccessibleName(tr("Note"));
    note_->setPlaceholderText(tr("What this run is for"));
    note_->setTabChangesFocus(true);
    note_->setMaximumHeight(96);
    note_->installEventFilter(this);
    auto* form = new QFormLayout;
    form->setContentsMargins(0, 0, 0, 0);
    form->addRow(new PlainLabel(tr("Name"), this), title_);
    form->addRow(new PlainLabel(tr("Tags"), this), tags_);
    form->addRow(new PlainLabel(tr("Note"), this), note_);
    body()->addLayout(form);
    connect(title_, &QLineEdit::editingFinished, this, &RunNotesCard::save);
    connect(tags_, &QLineEdit::editingFinished, this, &RunNotesCard::save);
    open({});
}

RunNotesCard::~RunNotesCard() { save(); }

void RunNotesCard::open(const QString& runPath) {
    if (runPath == run_ && !run_.isEmpty()) return;
    save();
    run_ = runPath;
    kept_ = run_.isEmpty() ? RunNotes() : read_run_notes(RunLayout(run_.toStdString()));
    const QString name = QFileInfo(run_).fileName();
    setFact(name);
    title_->setPlaceholderText(name);
    title_->setText(QString::fromStdString(kept_.title));
    QStringList tags;
    for (const std::string& tag : kept_.tags) tags.append(QString::fromStdString(tag));
    tags_->setText(tags.join(QStringLiteral(", ")));
    note_->setPlainText(QString::fromStdString(kept_.note));
    for (QWidget* field : {static_cast<QWidget*>(title_), static_cast<QWidget*>(tags_), static_cast<QWidget*>(note_)})
        field->setEnabled(!run_.isEmpty());
}

RunNotes RunNotesCard::typed() const {
    return {.title = title_->text().trimmed().toStdString(),
            .tags = tags_of(tags_->text().toStdString()),
            .note = note_->toPlainText().toStdString()};
}

void RunNotesCard::save() {
    if (run_.isEmpty() || typed() == kept_) return;
    // A run that was deleted meanwhile takes its notes along.
    if (!QFileInfo(run_).isDir()) return;
    const RunNotes notes = typed();
    if (const Result<void> written = write_run_notes(RunLayout(run_.toStdString()), notes); !written) {
        emit failed(QString::fromStdString(written.error().message));
        return;
    }
    kept_ = notes;
    emit saved();
}

bool RunNotesCard::eventFilter(QObject* watched, QEvent* event) {
    if (watched == note_ && event->type() == QEvent::FocusOut) save();
    return Card::eventFilter(watched, event);
}

}  // namespace plimsoll::ui
