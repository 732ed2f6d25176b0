// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/model_page.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QMimeData>
#include <QPushButton>

#include "ui/charts/share_pie.h"
#include "ui/common/value_format.h"
#include "ui/plan/choice_table.h"
#include "ui/plan/model_import.h"
#include "ui/plan/plan_model.h"
#include "ui/plan/plan_tables.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/card.h"
#include "ui/widgets/field_row.h"

namespace plimsoll::ui {

namespace {

QStringList stabilityKeys() {
    return {QStringLiteral("model.norm_placement"), QStringLiteral("model.qk_norm"),
            QStringLiteral("model.init"),           QStringLiteral("model.mup_base_width"),
            QStringLiteral("model.z_loss"),         QStringLiteral("model.embedding_gradient")};
}

QStringList architectureKeys() {
    const QStringList elsewhere =
        stabilityKeys() + QStringList{QStringLiteral("model.preset"), QStringLiteral("model.weights")};
    QStringList keys;
    for (const PlanField& field : planFields())
        if (field.key.startsWith(QLatin1String("model.")) && !elsewhere.contains(field.key)) keys.append(field.key);
    return keys;
}

/// Of the six, by their order in the palette: neighbours in the ring differ much.
std::function<QColor(const Theme&)> shareColour(ParameterShare::Part part) {
    static constexpr std::array<std::size_t, 6> order{0, 2, 1, 3, 4, 5};
    return [index = order[static_cast<std::size_t>(part)]](const Theme& theme) { return theme.category[index]; };
}

QString localFile(const QMimeData* data) {
    return data->hasUrls() && data->urls().size() == 1 ? data->urls().constFirst().toLocalFile() : QString();
}

}  // namespace

ModelPage::ModelPage(PlanModel* model, QWidget* parent)
    : Page(tr("Model"), parent),
      model_(model),
      preset_rows_(presetHeaders(), {1, 2, 3, 4}),
      parts_(parameterHeaders(), {1, 2}),
      presets_(nullptr),
      architecture_(new Card(tr("Architecture"), this)),
      parameters_(new Card(tr("Parameters"), this)),
      shares_(new SharePie(tr("Parameter shares"), tr("parameters"), parameters_)) {
    setAcceptDrops(true);
    preset_rows_.setRows(presetRows());
    auto* card = new Card(tr("Presets"), this);
    card->setFact(tr("click to switch the model; hardware, layout and recipe are kept"));
    presets_ = new ChoiceTable(tr("Model presets"), tr("Find a preset"), &preset_rows_, card);
    card->body()->addWidget(presets_, 1);
    auto* fit = new QPushButton(tr("Suggest a complete plan"), card);
    fit->setAccessibleName(fit->text());
    fit->setToolTip(tr("Hardware, layout and recipe to start from, as one step that can be undone"));
    auto* import = new QPushButton(tr("Import config.json…"), card);
    import->setAccessibleName(tr("Import a Hugging Face config.json"));
    import->setToolTip(
        tr("A Hugging Face config.json of gpt2, llama, mistral, mixtral or qwen2; or drop it on this page"));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(import);
    buttons->addWidget(fit);
    buttons->addStretch(1);
    card->body()->addLayout(buttons);
    addColumn(4)->addWidget(card, 1);

    QVBoxLayout* middle = addColumn(0, 316);
    architecture_->body()->addWidget(new FieldForm(model_, architectureKeys(), architecture_));
    architecture_->body()->addStretch(1);
    middle->addWidget(architecture_, 1);

    auto* parts = new FactTable(tr("Parameters by part"), parameters_);
    parts->setModel(&parts_);
    parts->setStretch(0);
    parts->setWholeHeight(true);
    parameters_->body()->addWidget(shares_);
    parameters_->body()->addWidget(parts);
    QVBoxLayout* right = addColumn(3);
    right->addWidget(parameters_);
    auto* stability = new Card(tr("Training stability"), this);
    stability->setFact(tr("deep and wide models"));
    stability->body()->addWidget(new FieldForm(model_, stabilityKeys(), stability));
    right->addWidget(stability);
    right->addWidget(makeStart());
    right->addStretch(1);

    connect(presets_, &ChoiceTable::chosen, model_, &PlanModel::usePreset);
    connect(import, &QPushButton::clicked, this, &ModelPage::askForConfig);
    connect(fit, &QPushButton::clicked, this, [this] { startFittingPlan(*model_); });
    connect(model_, &PlanModel::changed, this, &ModelPage::refresh);
    refresh();
}

Card* ModelPage::makeStart() {
    auto* card = new Card(tr("Initial weights"), this);
    card->setFact(tr("empty = random initialization"));
    auto* folder = new QPushButton(tr("Folder…"), card);
    folder->setAccessibleName(tr("Choose the folder of a Hugging Face checkpoint"));
    folder->setToolTip(folder->accessibleName());
    auto* row = new QHBoxLayout;
    row->addWidget(new FieldForm(model_, {QStringLiteral("model.weights")}, card), 1);
    row->addWidget(folder);
    card->body()->addLayout(row);
    connect(folder, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getExistingDirectory(this, tr("Choose the folder of a checkpoint"));
        if (path.isEmpty()) return;
        model_->endEdit();
        model_->setText(QStringLiteral("model.weights"), path);
        model_->endEdit();
    });
    return card;
}

void ModelPage::refresh() {
    const Model& model = model_->plan().model;
    const ParameterCounts& counts = model_->numbers().counts;
    parts_.setRows(parameterRows(model, counts));
    std::vector<ChartPart> shares;
    for (const ParameterShare& each : parameterShares(model, counts))
        shares.push_back({.name = each.name,
                          .value = static_cast<double>(each.count),
                          .figures = {percentText(static_cast<double>(each.count) / static_cast<double>(counts.total))},
                          .colour = shareColour(each.part),
                          .tip = tr("%1: %2 parameters").arg(each.name, countText(each.count))});
    shares_->setParts(std::move(shares));
    shares_->setWhole(formatValue(ValueKind::Short, static_cast<double>(counts.total)));
    parameters_->setFact(tr("exact"));
    parameters_->setValue(countText(counts.total));
    presets_->setCurrent(QString::fromStdString(model.preset));
    architecture_->setFact(modelOrigin(model));
}

bool ModelPage::hasField(const QString& key) const {
    return key == QLatin1String("model.preset") || Page::hasField(key);
}

bool ModelPage::focusField(const QString& key) {
    if (key != QLatin1String("model.preset")) return Page::focusField(key);
    presets_->search()->setFocus(Qt::ShortcutFocusReason);
    return true;
}

void ModelPage::askForConfig() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Import a Hugging Face config.json"), QString(),
                                                      tr("config.json (*.json);;All files (*)"));
    if (!path.isEmpty()) importConfig(path);
}

void ModelPage::importConfig(const QString& path) {
    const Result<QStringList> imported = importModel(*model_, path);
    if (!imported) {
        emit failed(QString::fromStdString(imported.error().message));
    } else if (!imported->isEmpty()) {
        emit noted(tr("%1: %2").arg(path.section(QLatin1Char('/'), -1), imported->join(QStringLiteral("; "))));
    }
}

void ModelPage::dragEnterEvent(QDragEnterEvent* event) {
    if (localFile(event->mimeData()).endsWith(QLatin1String(".json"), Qt::CaseInsensitive))
        event->acceptProposedAction();
}

void ModelPage::dropEvent(QDropEvent* event) {
    const QString path = localFile(event->mimeData());
    if (path.isEmpty()) return;
    event->acceptProposedAction();
    importConfig(path);
}

}  // namespace plimsoll::ui
