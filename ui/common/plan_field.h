// SPDX-License-Identifier: GPL-3.0-or-later
// The plan's fields as the studio shows them: label, help, kind and allowed values, from the core's field list.
#pragma once

#include <QHash>
#include <QList>
#include <QString>
#include <QStringList>

#include "core/plan/plan.h"

namespace plimsoll::ui {

struct PlanField {
    enum class Kind { Integer, Number, Text, Flag, Choice };
    QString key;      ///< "layout.dp"
    QString label;    ///< "Data parallel"
    QString section;  ///< "Layout"
    QString help;     ///< the core's help line
    QString allowed;  ///< "1 to 1,048,576"; empty for text and flags
    Kind kind = Kind::Text;
    QStringList choices;  ///< the plan's words
    QStringList titles;   ///< a title for a person, for each choice
};

/// Every field, in document order.
const QList<PlanField>& planFields();
/// The field of a dotted key; nullptr for an unknown key.
const PlanField* findPlanField(const QString& key);

/// Each field's value as text by dotted key, free of any locale: "4096", "0.0003", "true", "1f1b".
QHash<QString, QString> planTexts(const Plan& plan);

/// The text for a person in the application's locale: "4,096".
QString shownText(const PlanField& field, const QString& text);
/// Typed text without the locale's separators: "4,096" -> "4096".
QString plainText(const PlanField& field, const QString& typed);

/// The sentence with labels in place of dotted keys.
QString inWords(const std::string& sentence);
/// The first dotted key in the sentence; "" when there is none.
QString firstKeyIn(const std::string& sentence);

}  // namespace plimsoll::ui
