// SPDX-License-Identifier: GPL-3.0-or-later
// The name, tags and note that a person gives the chosen run; each is kept when its field is left.
#pragma once

#include "core/run/run_notes.h"
#include "ui/widgets/card.h"

class QLineEdit;
class QPlainTextEdit;

namespace plimsoll::ui {

class RunNotesCard : public Card {
    Q_OBJECT
public:
    explicit RunNotesCard(QWidget* parent = nullptr);
    ~RunNotesCard() override;

    /// Shows this run's notes; what was typed for the run before is kept first. "" for none.
    void open(const QString& runPath);
    QLineEdit* title() const { return title_; }
    QLineEdit* tags() const { return tags_; }
    QPlainTextEdit* note() const { return note_; }

signals:
    void saved();
    void failed(const QString& sentence);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void save();
    RunNotes typed() const;

    QString run_;
    RunNotes kept_;
    QLineEdit* title_;
    QLineEdit* tags_;
    QPlainTextEdit* note_;
};

}  // namespace plimsoll::ui
