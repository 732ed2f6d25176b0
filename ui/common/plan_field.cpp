// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/plan_field.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <QLocale>
#include <QRegularExpression>

#include "core/plan/json_fields.h"
#include "core/schedule/schedule.h"

namespace plimsoll::ui {

namespace {

struct Label {
    const char* key;
    const char* label;
};

constexpr const char* context = "PlanField";

constexpr Label labels[] = {
    {"name", QT_TRANSLATE_NOOP("PlanField", "Plan name")},
    {"model.preset", QT_TRANSLATE_NOOP("PlanField", "Preset")},
    {"model.name", QT_TRANSLATE_NOOP("PlanField", "Name")},
    {"model.weights", QT_TRANSLATE_NOOP("PlanField", "Initial weights folder")},
    {"model.family", QT_TRANSLATE_NOOP("PlanField", "Family")},
    {"model.hidden_size", QT_TRANSLATE_NOOP("PlanField", "Hidden size")},
    {"model.num_layers", QT_TRANSLATE_NOOP("PlanField", "Layers")},
    {"model.num_heads", QT_TRANSLATE_NOOP("PlanField", "Attention heads")},
    {"model.num_kv_heads", QT_TRANSLATE_NOOP("PlanField", "Key-value heads")},
    {"model.head_dim", QT_TRANSLATE_NOOP("PlanField", "Head dim (0 = auto)")},
    {"model.ffn_hidden_size", QT_TRANSLATE_NOOP("PlanField", "FFN (intermediate) size")},
    {"model.vocab_size", QT_TRANSLATE_NOOP("PlanField", "Vocabulary size")},
    {"model.max_position", QT_TRANSLATE_NOOP("PlanField", "Max position embeddings")},
    {"model.norm", QT_TRANSLATE_NOOP("PlanField", "Norm")},
    {"model.position", QT_TRANSLATE_NOOP("PlanField", "Positions")},
    {"model.activation", QT_TRANSLATE_NOOP("PlanField", "Activation")},
    {"model.qkv_bias", QT_TRANSLATE_NOOP("PlanField", "QKV bias")},
    {"model.linear_bias", QT_TRANSLATE_NOOP("PlanField", "Other biases")},
    {"model.tied_head", QT_TRANSLATE_NOOP("PlanField", "Tie word embeddings")},
    {"model.num_experts", QT_TRANSLATE_NOOP("PlanField", "Experts")},
    {"model.experts_per_token", QT_TRANSLATE_NOOP("PlanField", "Experts per token (top-k)")},
    {"model.capacity_factor", QT_TRANSLATE_NOOP("PlanField", "Capacity factor (0 = dropless)")},
    {"model.router_aux_loss", QT_TRANSLATE_NOOP("PlanField", "Balance loss weight")},
    {"model.router_z_loss", QT_TRANSLATE_NOOP("PlanField", "Router z-loss weight")},
    {"model.rope_theta", QT_TRANSLATE_NOOP("PlanField", "RoPE theta")},
    {"model.norm_eps", QT_TRANSLATE_NOOP("PlanField", "Norm epsilon")},
    {"model.dropout", QT_TRANSLATE_NOOP("PlanField", "Dropout")},
    {"model.init_std", QT_TRANSLATE_NOOP("PlanField", "Init std")},
    {"model.norm_placement", QT_TRANSLATE_NOOP("PlanField", "Norm placement")},
    {"model.qk_norm", QT_TRANSLATE_NOOP("PlanField", "QK-norm")},
    {"model.init", QT_TRANSLATE_NOOP("PlanField", "Initialization")},
    {"model.mup_base_width", QT_TRANSLATE_NOOP("PlanField", "muP base width (0 = off)")},
    {"model.z_loss", QT_TRANSLATE_NOOP("PlanField", "z-loss weight")},
    {"model.embedding_gradient", QT_TRANSLATE_NOOP("PlanField", "Embedding gradient scale")},
    {"cluster.gpu", QT_TRANSLATE_NOOP("PlanField", "GPU")},
    {"cluster.gpus_per_node", QT_TRANSLATE_NOOP("PlanField", "GPUs per node")},
    {"cluster.nodes", QT_TRANSLATE_NOOP("PlanField", "Nodes")},
    {"cluster.usable_gib", QT_TRANSLATE_NOOP("PlanField", "Usable GiB per GPU (0 = default)")},
    {"cluster.internode_gbs", QT_TRANSLATE_NOOP("PlanField", "Inter-node bandwidth, GB/s")},
    {"layout.dp", QT_TRANSLATE_NOOP("PlanField", "Data parallel")},
    {"layout.tp", QT_TRANSLATE_NOOP("PlanField", "Tensor parallel")},
    {"layout.pp", QT_TRANSLATE_NOOP("PlanField", "Pipeline stages")},
    {"layout.cp", QT_TRANSLATE_NOOP("PlanField", "Context parallel")},
    {"layout.ep", QT_TRANSLATE_NOOP("PlanField", "Expert parallel")},
    {"layout.sequence_parallel", QT_TRANSLATE_NOOP("PlanField", "Sequence parallel")},
    {"layout.zero_stage", QT_TRANSLATE_NOOP("PlanField", "ZeRO stage")},
    {"layout.micro_batch", QT_TRANSLATE_NOOP("PlanField", "Micro-batch")},
    {"layout.accumulation", QT_TRANSLATE_NOOP("PlanField", "Gradient accumulation steps")},
    {"layout.schedule", QT_TRANSLATE_NOOP("PlanField", "Schedule")},
    {"layout.chunks", QT_TRANSLATE_NOOP("PlanField", "Virtual stages per rank")},
    {"layout.schedule_file", QT_TRANSLATE_NOOP("PlanField", "Custom schedule file")},
    {"layout.split", QT_TRANSLATE_NOOP("PlanField", "Layer split")},
    {"layout.recompute", QT_TRANSLATE_NOOP("PlanField", "Activation checkpointing")},
    {"layout.recompute_every", QT_TRANSLATE_NOOP("PlanField", "Checkpoint every n layers")},
    {"layout.recompute_stages", QT_TRANSLATE_NOOP("PlanField", "Checkpointing stages")},
    {"layout.compress_activations", QT_TRANSLATE_NOOP("PlanField", "8-bit activations")},
    {"layout.offload_activations", QT_TRANSLATE_NOOP("PlanField", "Offload activations")},
    {"layout.loss_chunks", QT_TRANSLATE_NOOP("PlanField", "Loss chunks")},
    {"layout.offload_optimizer", QT_TRANSLATE_NOOP("PlanField", "Offload optimizer")},
    {"layout.offload_parameters", QT_TRANSLATE_NOOP("PlanField", "Offload parameters")},
    {"layout.nvme_path", QT_TRANSLATE_NOOP("PlanField", "NVMe folder")},
    {"numerics.dtype", QT_TRANSLATE_NOOP("PlanField", "Precision")},
    {"numerics.weights", QT_TRANSLATE_NOOP("PlanField", "Weights kept")},
    {"numerics.rounding", QT_TRANSLATE_NOOP("PlanField", "Rounding of updates")},
    {"numerics.attention", QT_TRANSLATE_NOOP("PlanField", "Attention")},
    {"numerics.fp32_gradients", QT_TRANSLATE_NOOP("PlanField", "fp32 gradient accumulation")},
    {"numerics.reduce_dtype", QT_TRANSLATE_NOOP("PlanField", "Gradient reduce dtype")},
    {"numerics.loss_scale", QT_TRANSLATE_NOOP("PlanField", "Loss scale (0 = dynamic)")},
    {"numerics.loss_scale_policy", QT_TRANSLATE_NOOP("PlanField", "Loss-scale policy")},
    {"numerics.initial_scale_power", QT_TRANSLATE_NOOP("PlanField", "Initial scale power")},
    {"numerics.loss_scale_window", QT_TRANSLATE_NOOP("PlanField", "Scale window")},
    {"numerics.hysteresis", QT_TRANSLATE_NOOP("PlanField", "Hysteresis")},
    {"numerics.consecutive_hysteresis", QT_TRANSLATE_NOOP("PlanField", "Consecutive hysteresis")},
    {"numerics.min_loss_scale", QT_TRANSLATE_NOOP("PlanField", "Min loss scale")},
    {"numerics.loss_scale_growth_fault", QT_TRANSLATE_NOOP("PlanField", "Emulate DeepSpeed growth bug")},
    {"numerics.loss_scale_growth", QT_TRANSLATE_NOOP("PlanField", "Growth factor")},
    {"numerics.loss_scale_backoff", QT_TRANSLATE_NOOP("PlanField", "Backoff factor")},
    {"numerics.loss_scale_check_every", QT_TRANSLATE_NOOP("PlanField", "Check scale every")},
    {"optimizer.kind", QT_TRANSLATE_NOOP("PlanField", "Optimizer")},
    {"optimizer.state_dtype", QT_TRANSLATE_NOOP("PlanField", "Optimizer states")},
    {"optimizer.lr", QT_TRANSLATE_NOOP("PlanField", "Peak learning rate")},
    {"optimizer.beta1", QT_TRANSLATE_NOOP("PlanField", "Beta 1")},
    {"optimizer.beta2", QT_TRANSLATE_NOOP("PlanField", "Beta 2")},
    {"optimizer.eps", QT_TRANSLATE_NOOP("PlanField", "Epsilon")},
    {"optimizer.weight_decay", QT_TRANSLATE_NOOP("PlanField", "Weight decay")},
    {"optimizer.momentum", QT_TRANSLATE_NOOP("PlanField", "Momentum")},
    {"optimizer.always_adapt", QT_TRANSLATE_NOOP("PlanField", "Adapt biases, norms")},
    {"optimizer.clip", QT_TRANSLATE_NOOP("PlanField", "Max grad norm (0 = off)")},
    {"optimizer.embedding_lr", QT_TRANSLATE_NOOP("PlanField", "Embedding LR multiplier")},
    {"optimizer.head_lr", QT_TRANSLATE_NOOP("PlanField", "Head LR multiplier")},
    {"optimizer.vector_lr", QT_TRANSLATE_NOOP("PlanField", "Bias and norm LR multiplier")},
    {"optimizer.clip_rule", QT_TRANSLATE_NOOP("PlanField", "Clipping rule")},
    {"lr.kind", QT_TRANSLATE_NOOP("PlanField", "LR scheduler")},
    {"lr.warmup_steps", QT_TRANSLATE_NOOP("PlanField", "Warmup steps")},
    {"lr.warmup_fraction", QT_TRANSLATE_NOOP("PlanField", "Warmup ratio (0 = by steps)")},
    {"lr.warmup_shape", QT_TRANSLATE_NOOP("PlanField", "Warmup curve")},
    {"lr.warmup_start_ratio", QT_TRANSLATE_NOOP("PlanField", "Warmup start ratio")},
    {"lr.min_ratio", QT_TRANSLATE_NOOP("PlanField", "Min LR ratio")},
    {"lr.tail", QT_TRANSLATE_NOOP("PlanField", "Anneal to zero at the end")},
    {"lr.decay_steps", QT_TRANSLATE_NOOP("PlanField", "Anneal steps (0 = by ratio)")},
    {"lr.decay_fraction", QT_TRANSLATE_NOOP("PlanField", "Anneal ratio")},
    {"lr.decay_shape", QT_TRANSLATE_NOOP("PlanField", "Anneal curve")},
    {"lr.cycle_steps", QT_TRANSLATE_NOOP("PlanField", "First cycle steps (0 = rest)")},
    {"lr.cycle_factor", QT_TRANSLATE_NOOP("PlanField", "Cycle length factor")},
    {"lr.cycle_decay", QT_TRANSLATE_NOOP("PlanField", "Cycle peak factor")},
    {"lr.cycles", QT_TRANSLATE_NOOP("PlanField", "Cycles (0 = default)")},
    {"lr.power", QT_TRANSLATE_NOOP("PlanField", "Power")},
    {"lr.decay_rate", QT_TRANSLATE_NOOP("PlanField", "OneCycle decay rate")},
    {"lr.batch_rule", QT_TRANSLATE_NOOP("PlanField", "Scale LR with batch size")},
    {"lr.batch_reference", QT_TRANSLATE_NOOP("PlanField", "Reference batch (tokens)")},
    {"lr.extension", QT_TRANSLATE_NOOP("PlanField", "LR behind added steps")},
    {"lr.extended_from", QT_TRANSLATE_NOOP("PlanField", "Steps before extension")},
    {"lr.extended_ratio", QT_TRANSLATE_NOOP("PlanField", "LR ratio before extension")},
    {"guard.detector", QT_TRANSLATE_NOOP("PlanField", "Detector")},
    {"guard.every", QT_TRANSLATE_NOOP("PlanField", "Check every")},
    {"guard.window", QT_TRANSLATE_NOOP("PlanField", "Window, samples")},
    {"guard.warmup", QT_TRANSLATE_NOOP("PlanField", "Warmup, samples")},
    {"guard.threshold", QT_TRANSLATE_NOOP("PlanField", "Threshold (0 = default)")},
    {"guard.loss_spikes", QT_TRANSLATE_NOOP("PlanField", "Loss spikes too")},
    {"guard.clip", QT_TRANSLATE_NOOP("PlanField", "1. Clip")},
    {"guard.skip", QT_TRANSLATE_NOOP("PlanField", "2. Skip the batch")},
    {"guard.cut_lr", QT_TRANSLATE_NOOP("PlanField", "3. Reduce LR")},
    {"guard.checkpoint", QT_TRANSLATE_NOOP("PlanField", "4. Checkpoint")},
    {"guard.rollback", QT_TRANSLATE_NOOP("PlanField", "5. Roll back")},
    {"guard.cut_factor", QT_TRANSLATE_NOOP("PlanField", "LR reduction factor")},
    {"guard.calm", QT_TRANSLATE_NOOP("PlanField", "Cooldown, steps")},
    {"guard.max_rollbacks", QT_TRANSLATE_NOOP("PlanField", "Rollbacks at most")},
    {"data.path", QT_TRANSLATE_NOOP("PlanField", "Text")},
    {"data.sequence_length", QT_TRANSLATE_NOOP("PlanField", "Sequence length")},
    {"data.validation_fraction", QT_TRANSLATE_NOOP("PlanField", "Validation split")},
    {"training.steps", QT_TRANSLATE_NOOP("PlanField", "Steps")},
    {"training.seed", QT_TRANSLATE_NOOP("PlanField", "Seed")},
    {"training.bucket_mib", QT_TRANSLATE_NOOP("PlanField", "Gradient bucket, MiB")},
    {"training.all_reduce_group", QT_TRANSLATE_NOOP("PlanField", "Hierarchical all-reduce group")},
    {"training.threads", QT_TRANSLATE_NOOP("PlanField", "CPU threads per rank")},
    {"training.layer_norms_every", QT_TRANSLATE_NOOP("PlanField", "Per-layer grad norms every")},
    {"training.validate_every", QT_TRANSLATE_NOOP("PlanField", "Validate every")},
    {"training.sample_every", QT_TRANSLATE_NOOP("PlanField", "Sample every")},
    {"training.sample_prompt", QT_TRANSLATE_NOOP("PlanField", "Sample prompt")},
    {"training.checkpoint_every", QT_TRANSLATE_NOOP("PlanField", "Checkpoint every")},
    {"training.keep_checkpoints", QT_TRANSLATE_NOOP("PlanField", "Checkpoints kept")},
    {"training.noise_scale_every", QT_TRANSLATE_NOOP("PlanField", "Gradient noise scale every")},
    {"adapter.rank", QT_TRANSLATE_NOOP("PlanField", "LoRA rank (r)")},
    {"adapter.alpha", QT_TRANSLATE_NOOP("PlanField", "LoRA alpha")},
    {"adapter.rank_stabilized", QT_TRANSLATE_NOOP("PlanField", "rsLoRA")},
    {"adapter.targets", QT_TRANSLATE_NOOP("PlanField", "Target modules")},
    {"adapter.weights", QT_TRANSLATE_NOOP("PlanField", "Adapter folder")},
    {"export.deepspeed_release", QT_TRANSLATE_NOOP("PlanField", "DeepSpeed release")},
};

constexpr Label sections[] = {
    {"", QT_TRANSLATE_NOOP("PlanField", "Plan")},
    {"model", QT_TRANSLATE_NOOP("PlanField", "Model")},
    {"cluster", QT_TRANSLATE_NOOP("PlanField", "Hardware")},
    {"layout", QT_TRANSLATE_NOOP("PlanField", "Layout")},
    {"numerics", QT_TRANSLATE_NOOP("PlanField", "Recipe")},
    {"optimizer", QT_TRANSLATE_NOOP("PlanField", "Recipe")},
    {"lr", QT_TRANSLATE_NOOP("PlanField", "Recipe")},
    {"guard", QT_TRANSLATE_NOOP("PlanField", "Recipe")},
    {"training", QT_TRANSLATE_NOOP("PlanField", "Recipe")},
    {"data", QT_TRANSLATE_NOOP("PlanField", "Data")},
    {"export", QT_TRANSLATE_NOOP("PlanField", "Export")},
};

QString translated(std::span<const Label> table, const QString& key) {
    for (const Label& entry : table)
        if (key == QLatin1String(entry.key)) return QCoreApplication::translate(context, entry.label);
    // A field that is new in the core gets its own name in readable form.
    QString words = key.section(QLatin1Char('.'), -1).replace(QLatin1Char('_'), QLatin1Char(' '));
    if (!words.isEmpty()) words[0] = words[0].toUpper();
    return words;
}

QString qt(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

/// The papers' names where they differ from the plan's words.
QStringList titlesOf(const PlanField& field) {
    QStringList titles = field.choices;
    if (field.key == QLatin1String("layout.schedule"))
        for (qsizetype i = 0; i < titles.size(); ++i)
            titles[i] = QString::fromLatin1(schedule_title(static_cast<Schedule>(i)));
    if (field.key == QLatin1String("numerics.reduce_dtype"))
        titles[0] = QCoreApplication::translate(context, QT_TRANSLATE_NOOP("PlanField", "as they are"));
    if (field.key == QLatin1String("numerics.weights"))
        titles = {QCoreApplication::translate(context, QT_TRANSLATE_NOOP("PlanField", "with fp32 masters")),
                  QCoreApplication::translate(context, QT_TRANSLATE_NOOP("PlanField", "fp32 (autocast)")),
                  QCoreApplication::translate(context, QT_TRANSLATE_NOOP("PlanField", "bf16 only (pure)"))};
    if (field.key == QLatin1String("numerics.rounding"))
        titles = {QCoreApplication::translate(context, QT_TRANSLATE_NOOP("PlanField", "to nearest")),
                  QCoreApplication::translate(context, QT_TRANSLATE_NOOP("PlanField", "stochastic")),
                  QCoreApplication::translate(context, QT_TRANSLATE_NOOP("PlanField", "Kahan sums"))};
    if (field.key == QLatin1String("optimizer.kind"))
        titles = {QStringLiteral("AdamW"), QStringLiteral("LAMB"), QStringLiteral("SGD"),
                  QCoreApplication::translate(context, QT_TRANSLATE_NOOP("PlanField", "AdamW, 8 bits")),
                  QStringLiteral("Adafactor")};
    return titles;
}

/// Walks the list with the section's prefix.
class Walk : public FieldVisitor {
public:
    void begin(std::string_view key, std::string_view) override { section_ = qt(key); }
    void end() override { section_.clear(); }

protected:
    QString dotted(std::string_view key) const {
        return section_.isEmpty() ? qt(key) : section_ + QLatin1Char('.') + qt(key);
    }
    QString section_;
};

class ListFields final : public Walk {
public:
    QList<PlanField> fields;
    void integer(std::string_view key, std::int64_t&, IntRange range, std::string_view help) override {
        add(key, help, PlanField::Kind::Integer, allowed_text(range));
    }
    void number(std::string_view key, double&, NumberRange range, std::string_view help) override {
        add(key, help, PlanField::Kind::Number, allowed_text(range));
    }
    void text(std::string_view key, std::string&, std::string_view help) override {
        add(key, help, PlanField::Kind::Text, {});
    }
    void flag(std::string_view key, bool&, std::string_view help) override {
        add(key, help, PlanField::Kind::Flag, {});
    }
    void choice(std::string_view key, int&, std::span<const std::string_view> names, std::string_view help) override {
        add(key, help, PlanField::Kind::Choice, allowed_text(names));
        for (const std::string_view name : names) fields.back().choices.append(qt(name));
        fields.back().titles = titlesOf(fields.back());
    }

private:
    void add(std::string_view key, std::string_view help, PlanField::Kind kind, const std::string& allowed) {
        PlanField field;
        field.key = dotted(key);
        field.label = translated(labels, field.key);
        field.section = translated(sections, section_);
        field.help = qt(help);
        field.allowed = qt(allowed);
        field.kind = kind;
        fields.append(field);
    }
};

class ReadTexts final : public Walk {
public:
    QHash<QString, QString> texts;
    void integer(std::string_view key, std::int64_t& value, IntRange, std::string_view) override {
        texts.insert(dotted(key), QString::number(value));
    }
    void number(std::string_view key, double& value, NumberRange, std::string_view) override {
        texts.insert(dotted(key), QString::fromStdString(fmt::format("{}", value)));
    }
    void text(std::string_view key, std::string& value, std::string_view) override {
        texts.insert(dotted(key), QString::fromStdString(value));
    }
    void flag(std::string_view key, bool& value, std::string_view) override {
        texts.insert(dotted(key), value ? QStringLiteral("true") : QStringLiteral("false"));
    }
    void choice(std::string_view key, int& index, std::span<const std::string_view> names, std::string_view) override {
        texts.insert(dotted(key), qt(names[static_cast<std::size_t>(index)]));
    }
};

const QRegularExpression& dottedKey() {
    static const QRegularExpression pattern(
        QStringLiteral("\\b(model|cluster|layout|numerics|optimizer|lr|guard|data|training|export)\\.[a-z0-9_]+"));
    return pattern;
}

}  // namespace

const QList<PlanField>& planFields() {
    static const QList<PlanField> fields = [] {
        ListFields list;
        Plan plan;
        visit_fields(list, plan);
        return list.fields;
    }();
    return fields;
}

const PlanField* findPlanField(const QString& key) {
    for (const PlanField& field : planFields())
        if (field.key == key) return &field;
    return nullptr;
}

QHash<QString, QString> planTexts(const Plan& plan) {
    ReadTexts read;
    Plan copy = plan;
    visit_fields(read, copy);
    return read.texts;
}

QString shownText(const PlanField& field, const QString& text) {
    if (field.kind == PlanField::Kind::Integer) {
        bool ok = false;
        const qlonglong value = text.toLongLong(&ok);
        // A seed is a name and no amount.
        if (ok && field.key != QLatin1String("training.seed")) return QLocale().toString(value);
    }
    if (field.kind == PlanField::Kind::Number) {
        static const QRegularExpression leadingZeros(QStringLiteral("e([+-])0+(?=\\d)"));
        QString shown = text;
        return shown.replace(QLatin1Char('.'), QLocale().decimalPoint()).replace(leadingZeros, QStringLiteral("e\\1"));
    }
    if (const qsizetype at = field.choices.indexOf(text); at >= 0) return field.titles[at];
    return text;
}

QString plainText(const PlanField& field, const QString& typed) {
    if (field.kind != PlanField::Kind::Integer && field.kind != PlanField::Kind::Number) return typed;
    QString plain = typed.simplified();
    plain.remove(QLatin1Char(' ')).remove(QChar(0x202f)).remove(QChar(0x00a0));
    const QLocale locale;
    plain.remove(locale.groupSeparator());
    plain.replace(locale.decimalPoint(), QLatin1String("."));
    plain.replace(QChar(0x2212), QLatin1Char('-'));
    if (plain.startsWith(QLatin1Char('.'))) plain.prepend(QLatin1Char('0'));
    return plain;
}

QString inWords(const std::string& sentence) {
    QString words = QString::fromStdString(sentence);
    qsizetype from = 0;
    for (auto match = dottedKey().match(words); match.hasMatch(); match = dottedKey().match(words, from)) {
        const PlanField* field = findPlanField(match.captured());
        const QString label = field ? field->label : match.captured();
        words.replace(match.capturedStart(), match.capturedLength(), label);
        from = match.capturedStart() + label.size();
    }
    if (!words.isEmpty()) words[0] = words[0].toUpper();
    return words;
}

QString firstKeyIn(const std::string& sentence) {
    auto matches = dottedKey().globalMatch(QString::fromStdString(sentence));
    while (matches.hasNext()) {
        const QString key = matches.next().captured();
        if (findPlanField(key)) return key;
    }
    return {};
}

}  // namespace plimsoll::ui
