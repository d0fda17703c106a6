"""A small transformer that computes on counted arrays, whole or split among chips.

Its numbers are real: a split model must give the logits of the whole one, and a decode step on a
cache those of a prefill. The scale 1/sqrt(width) of the scores lies in the weights of the queries.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from counting import Tape, joined

EPSILON = 1e-6
_erf = np.vectorize(math.erf)


@dataclass(frozen=True)
class Model:
    """Sizes and flags, spelled out here for themselves."""

    hidden: int = 24
    layers: int = 2
    heads: int = 4
    vocabulary: int = 170
    mlp: int = 32
    kv_heads: int = 4
    head_dim: int = 6
    gated: bool = True
    activation: str = "silu"
    norm: str = "rms"
    rotary: bool = True
    positions: int = 0
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    window: int | None = None
    experts: int = 0
    experts_per_token: int = 0
    expert_width: int = 0
    shared_width: int = 0
    dense_layers: int = 0

    def routes(self, block):
        return self.experts and block >= self.dense_layers


def weights_of(model, seed=0):
    """All weights by name; matrices have their inputs as rows."""
    draw = np.random.default_rng(seed)
    d, width = model.hidden, model.head_dim
    found = {"embedding": (model.vocabulary, d)}
    if not model.tied:
        found["lm_head"] = (model.vocabulary, d)
    if model.positions:
        found["positions"] = (model.positions, d)

    def norm(name, size):
        found[f"{name}.gain"] = (size,)
        if model.norm == "layer":
            found[f"{name}.shift"] = (size,)

    def mlp(name, size, bias):
        for part in ("gate", "up") if model.gated else ("up",):
            found[f"{name}{part}"] = (d, size)
            if bias:
                found[f"{name}{part}.bias"] = (size,)
        found[f"{name}down"] = (size, d)
        if bias:
            found[f"{name}down.bias"] = (d,)

    norm("final_norm", d)
    for block in range(model.layers):
        at = f"{block}."
        norm(f"{at}attn_norm", d)
        norm(f"{at}mlp_norm", d)
        for name, heads in (("q", model.heads), ("k", model.kv_heads), ("v", model.kv_heads)):
            found[f"{at}{name}"] = (d, heads * width)
            if model.qkv_bias:
                found[f"{at}{name}.bias"] = (heads * width,)
        found[f"{at}o"] = (model.heads * width, d)
        if model.out_bias:
            found[f"{at}o.bias"] = (d,)
        if model.qk_norm:
            found[f"{at}q_norm.gain"] = found[f"{at}k_norm.gain"] = (width,)
            if model.norm == "layer":
                found[f"{at}q_norm.shift"] = found[f"{at}k_norm.shift"] = (width,)
        if not model.routes(block):
            mlp(f"{at}mlp.", model.mlp, model.mlp_bias)
            continue
        found[f"{at}router"] = (d, model.experts)
        for expert in range(model.experts):
            mlp(f"{at}expert{expert}.", model.expert_width, model.mlp_bias)
        if model.shared_width:
            mlp(f"{at}shared.", model.shared_width, model.mlp_bias)
    return {
        name: draw.normal(size=shape) / math.sqrt(max(shape[0], 4)) for name, shape in found.items()
    }


def share(model, weights, rank, chips):
    """What one of several chips holds: heads, widths and vocabulary cut, all else whole."""
    width = model.head_dim
    mine = range(rank * model.heads // chips, (rank + 1) * model.heads // chips)
    group = model.heads // model.kv_heads
    of = {"q": mine, "o": mine}
    of["k"] = of["v"] = range(mine[0] // group, mine[-1] // group + 1)
    per = math.ceil(model.vocabulary / chips)
    held = {}
    for name, values in weights.items():
        part, *bias = name.split(".")[1:] if name[0].isdigit() else (name,)
        mlp = part == "mlp" or part.startswith(("expert", "shared"))
        if name in ("embedding", "lm_head"):
            values = values[rank * per : (rank + 1) * per]
        elif part in of:
            columns = [head * width + column for head in of[part] for column in range(width)]
            if part != "o":
                values = values[..., columns]
            elif not bias:
                values = values[columns]
        elif mlp and bias[0] == "down":
            size = len(values) // chips
            values = values if len(bias) > 1 else values[rank * size : (rank + 1) * size]
        elif mlp:
            size = values.shape[-1] // chips
            values = values[..., rank * size : (rank + 1) * size]
        held[name] = values
    return held


def kv_heads_on(model, chips):
    """KV heads of one chip: its share, or one where there are fewer heads than chips."""
    return max(model.kv_heads // chips, 1)


class Chip:
    """One chip's part of a model: its weights, its cache, and its tape of the pass."""

    def __init__(self, model, weights, rank, chips, batch, length, rows=None):
        self.model, self.rank, self.chips, self.rows = model, rank, chips, rows
        self.held = share(model, weights, rank, chips)
        shape = (batch, kv_heads_on(model, chips), length, model.head_dim)
        self.caches = [(np.zeros(shape), np.zeros(shape)) for _ in range(model.layers)]

    def forward(self, tokens, start, how, routing=None):
        """Tokens [batch, new] after ``start`` others, as a generator that yields partial sums.

        Yields (name, array) for each collective and is sent what it gave; returns the logits of
        the last token. ``how`` is "fused" or "unfused" attention.
        """
        self.tape, model = Tape(), self.model
        tape, new = self.tape, tokens.shape[1]
        self.arrays = {name: tape.memory(values, "weight") for name, values in self.held.items()}
        with tape.operation("embedding"):
            x = self._look_up("embedding", tokens)
            # One of the chips adds what the sum may hold but once.
            if model.positions and self.rank == 0:
                x = x + self.arrays["positions"][start : start + new]
        x = yield from self._reduced("embedding_all_reduce", x)
        for block in range(model.layers):
            tape.block, at = block, f"{block}."
            normed = self._norm("attn_norm", f"{at}attn_norm", x)
            attended = self._attention(block, normed, start, how)
            with tape.operation("o_proj"):
                out = self._linear(attended, f"{at}o", once=True)
            out = yield from self._reduced("attn_all_reduce", out)
            with tape.operation("attn_add"):
                x = x + out
            normed = self._norm("mlp_norm", f"{at}mlp_norm", x)
            if model.routes(block):
                out = self._experts(at, normed, routing)
            else:
                out = self._mlp(f"{at}mlp.", normed, "{}_proj", "mlp_act")
            out = yield from self._reduced("mlp_all_reduce", out)
            with tape.operation("mlp_add"):
                x = x + out
        tape.block = None
        x = self._norm("final_norm", "final_norm", x[:, -1])
        with tape.operation("lm_head"):
            head = self.arrays["embedding" if model.tied else "lm_head"]
            logits = x.matmul(head.T)
        logits = yield from self._reduced("logits_all_gather", logits)
        with tape.operation("sample"):
            return logits.copy().values

    def _reduced(self, name, partial):
        if self.chips == 1:
            return partial
        values = yield name, partial.values
        with self.tape.operation(name):
            self.tape.touch(partial)
            return self.tape.fresh(values)

    def _look_up(self, name, tokens):
        table = self.arrays[name]
        first = self.rank * math.ceil(self.model.vocabulary / self.chips)
        mine = (tokens >= first) & (tokens < first + table.shape[0])
        self.tape.touch(table[tokens[mine] - first])
        rows = np.zeros((*tokens.shape, self.model.hidden))
        rows[mine] = table.values[tokens[mine] - first]
        return self.tape.fresh(rows)

    def _linear(self, x, name, once=False):
        """x · W + b; of a product that chips add up, the first alone adds its bias."""
        bias = None if once and self.rank else self.arrays.get(f"{name}.bias")
        return x.matmul(self.arrays[name], start=bias)

    def _norm(self, operation, name, x):
        with self.tape.operation(operation):
            return self._normed(name, x)

    def _normed(self, name, x):
        size = x.shape[-1]
        if self.model.norm == "layer":
            x = x - x.sum() / size
        root = ((x * x).sum() / size + EPSILON).apply(np.sqrt).apply(np.reciprocal)
        x = x * root * self.arrays[f"{name}.gain"]
        return x + self.arrays[f"{name}.shift"] if self.model.norm == "layer" else x

    def _attention(self, block, x, start, how):
        model, tape, at = self.model, self.tape, f"{block}."
        (batch, new), width = x.shape[:2], model.head_dim
        keys, values = (tape.memory(each, "cache") for each in self.caches[block])
        here = [cache[:, :, start : start + new] for cache in (keys, values)]

        def heads(array):
            return by_head(array, batch, new, width)

        last = "rotary" if model.rotary else "qk_norm" if model.qk_norm else "k_proj"
        made = {}
        for name in "qkv":
            with tape.operation(f"{name}_proj"):
                made[name] = heads(self._linear(x, f"{at}{name}"))
                if name == "v" or (name == "k" and last == "k_proj"):
                    tape.store(made[name], here[name == "v"])
        for step, change in (("qk_norm", self._normed), ("rotary", self._turned)):
            if not getattr(model, step):
                continue
            with tape.operation(step):
                for name in "qk":
                    given = f"{at}{name}_norm" if step == "qk_norm" else start
                    made[name] = change(given, made[name])
                if last == step:
                    tape.store(made["k"], here[0])
        group = model.heads // self.chips // keys.shape[1]
        run = self._unfused if how == "unfused" else self._blocked if self.rows else self._fused
        return run(made["q"], keys, values, start, group)

    def _turned(self, start, x):
        """Pairs of elements, the i-th of each half, turned by angles that grow with the place."""
        half = x.shape[-1] // 2
        speed = 10000.0 ** (-np.arange(half) / half)
        angle = (start + np.arange(x.shape[-2]))[:, None] * speed
        cos, sin = self.tape.constant(np.cos(angle)), self.tape.constant(np.sin(angle))
        a, b = x[..., :half], x[..., half:]
        a, b = a * cos - b * sin, b * cos + a * sin
        both = np.concatenate([a.values, b.values], axis=-1)
        return self.tape.fresh(both)

    def _seen(self, row):
        """The first key that the token at a place attends to; the last is its own."""
        return 0 if self.model.window is None else max(0, row + 1 - self.model.window)

    def _softmax(self, scores):
        scores = (scores - scores.max()).apply(np.exp)
        return scores / scores.sum()

    def _fused(self, q, keys, values, start, group):
        batch, heads, new, width = q.shape
        rows = []
        with self.tape.operation("attention"):
            for b, i, h in np.ndindex(batch, new, heads):
                rows.append(self._row(q, keys, values, start, (b, i, h, h // group)))
            return joined(rows, (batch, new, heads * width))

    def _blocked(self, q, keys, values, start, group):
        """Fused attention that keeps so few rows of queries that K and V pass again for others."""
        batch, heads, new, width = q.shape
        out = self.tape.memory(np.zeros((batch, new, heads * width)), "activation")
        for b, kept in np.ndindex(batch, heads // group):
            rows = [(i, kept * group + h) for i in range(new) for h in range(group)]
            for first in range(0, len(rows), self.rows):
                with self.tape.operation("attention"):
                    for i, h in rows[first : first + self.rows]:
                        row = self._row(q, keys, values, start, (b, i, h, kept))
                        self.tape.store(row, out[b, i : i + 1, h * width : (h + 1) * width])
        return out

    def _row(self, q, keys, values, start, place):
        b, i, h, kept = place
        seen = slice(self._seen(start + i), start + i + 1)
        scores = q[b, h, i : i + 1].matmul(keys[b, kept, seen].T)
        return self._softmax(scores).matmul(values[b, kept, seen])

    def _unfused(self, q, keys, values, start, group):
        batch, heads, new, width = q.shape
        first, last = self._seen(start), start + new
        place = np.arange(first, last)
        own = start + np.arange(new)[:, None]
        hidden = (place > own) | (place < np.vectorize(self._seen)(own))
        with self.tape.operation("qk_matmul"):
            scores = joined(
                [q[b, h].matmul(keys[b, h // group, first:last].T)
                 for b, h in np.ndindex(batch, heads)],
                (batch, heads, new, last - first),
            )  # fmt: skip
        with self.tape.operation("softmax"):
            scores = self._softmax(scores.where_not(hidden))
        with self.tape.operation("sv_matmul"):
            found = [scores[b, h].matmul(values[b, h // group, first:last])
                     for b, h in np.ndindex(batch, heads)]  # fmt: skip
            out = np.stack([each.values for each in found]).reshape(batch, heads, new, width)
            return self.tape.fresh(np.moveaxis(out, 1, 2).reshape(batch, new, heads * width))

    def _mlp(self, at, x, matrix, act):
        tape, gate = self.tape, None
        if self.model.gated:
            with tape.operation(matrix.format("gate")):
                gate = self._linear(x, f"{at}gate")
        with tape.operation(matrix.format("up")):
            up = self._linear(x, f"{at}up")
        with tape.operation(act):
            inner = _activated(gate, self.model.activation) * up if gate else _activated(
                up, self.model.activation
            )  # fmt: skip
        with tape.operation(matrix.format("down")):
            return self._linear(inner, f"{at}down", once=True)

    def _experts(self, at, x, routing):
        model, tape = self.model, self.tape
        flat = x.reshape(-1, model.hidden)
        with tape.operation("router"):
            scores = self._linear(flat, f"{at}router")
        with tape.operation("gating"):
            gates = scores.copy().values
        chosen = routing
        if routing is None:
            chosen = np.argsort(-gates, axis=-1)[:, : model.experts_per_token]
        made = {}
        for expert in range(model.experts):
            (visitors,) = np.nonzero((chosen == expert).any(axis=-1))
            if visitors.size:
                out = self._mlp(f"{at}expert{expert}.", flat[visitors], "experts_{}", "experts_act")
                made |= {(token, expert): out[place] for place, token in enumerate(visitors)}
        shared = None
        if model.shared_width:
            shared = self._mlp(f"{at}shared.", flat, "shared_{}", "shared_act")
        with tape.operation("experts_sum"):
            rows = []
            for token, experts in enumerate(chosen):
                rows.append(self._mixed(
                    [made[token, expert] for expert in experts],
                    _shares(gates[token, experts]),
                    None if shared is None else shared[token],
                ))  # fmt: skip
            return joined(rows, x.shape)

    def _mixed(self, rows, gates, start):
        """Rows added up with a gate each, from zero or from ``start``: multiply-adds."""
        for row in (*rows, *([] if start is None else [start])):
            self.tape.touch(row)
        total = sum(row.values * gate for row, gate in zip(rows, gates, strict=True))
        total = total if start is None else total + start.values
        return self.tape.fresh(total, "products", 2 * len(rows) * total.size)


def by_head(array, batch, new, width):
    """[batch, new, heads · width] as [batch, heads, new, width]."""
    array = array.reshape(batch, new, -1, width)
    return array._arranged(lambda each: np.moveaxis(each, 2, 1))


def _shares(scores):
    scores = np.exp(scores)
    return scores / scores.sum()


def _activated(x, kind):
    if kind == "relu":
        return x.maximum(0)
    if kind == "gelu":
        return ((x * (1 / math.sqrt(2))).apply(_erf) + 1) * x * 0.5
    return x / (x.negative().apply(np.exp) + 1)


@dataclass
class Run:
    """What a pass gave: the logits, each chip with its tape and caches, what was sent."""

    logits: np.ndarray
    chips: list
    sent: list


def run(model, tokens, *, cached=0, chips=1, how="fused", rows=None, routing=None):
    """A pass over tokens [batch, cached + new]; the first ``cached`` go before, uncounted.

    ``rows`` of queries are all that fused attention keeps while the keys of a head pass.
    """
    weights = weights_of(model)
    ranks = [Chip(model, weights, rank, chips, *tokens.shape, rows) for rank in range(chips)]
    if cached:
        _together(ranks, tokens[:, :cached], 0, how, None)
    logits, sent = _together(ranks, tokens[:, cached:], cached, how, routing)
    return Run(logits, ranks, sent)


def _together(ranks, tokens, start, how, routing):
    passes, sent = [rank.forward(tokens, start, how, routing) for rank in ranks], []
    given = [None] * len(ranks)
    while True:
        asked, ended = [], []
        for each, back in zip(passes, given, strict=True):
            try:
                asked.append(each.send(back))
            except StopIteration as stop:
                ended.append(stop.value)
        if ended:
            return ended[0], sent
        name, parts = asked[0][0], [values for _, values in asked]
        gathers = name.endswith("gather")
        whole = np.concatenate(parts, axis=-1) if gathers else sum(parts)
        sent.append((name, whole.size))
        given = [whole] * len(ranks)


def tokens_of(model, batch, length, chips=1):
    """Token ids, each another, so that the embedding reads a row for each; even among chips."""
    sequence, place = np.indices((batch, length))
    held = math.ceil(model.vocabulary / chips)
    return (sequence + place) % chips * held + sequence * length + place


def changed(**fields):
    return dataclasses.replace(Model(), **fields)
