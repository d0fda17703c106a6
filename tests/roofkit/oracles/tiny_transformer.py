"""A small transformer that computes on counted arrays, whole or split among chips.

Its numbers are real: a split model must give the logits of the whole one, and a decode step on a
cache those of a prefill. The scale 1/sqrt(width) of the scores lies in the weights of the queries.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import NamedTuple

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
    shared_gate: bool = False
    dense_layers: int = 0
    # One norm feeds both halves of a block, or one each, and both are added together.
    parallel: bool = False
    block_norms: int = 2
    # Widths of the vector that is cached, of the one for queries, and of a head's keys: without
    # place, with place; and of its values.
    latent: tuple = ()

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
        if model.block_norms > 1:
            norm(f"{at}mlp_norm", d)
        if model.latent:
            rank, queries, nope, rope, value = model.latent
            if queries:
                found[f"{at}q_down"] = (d, queries)
                norm(f"{at}q_norm", queries)
            found[f"{at}q"] = (queries or d, model.heads * (nope + rope))
            found[f"{at}kv_down"] = (d, rank + rope)
            norm(f"{at}kv_norm", rank)
            found[f"{at}kv_up"] = (rank, model.heads * (nope + value))
        for name, heads in (("q", model.heads), ("k", model.kv_heads), ("v", model.kv_heads)):
            if model.latent:
                continue
            found[f"{at}{name}"] = (d, heads * width)
            if model.qkv_bias:
                found[f"{at}{name}.bias"] = (heads * width,)
        found[f"{at}o"] = (model.heads * (model.latent[4] if model.latent else width), d)
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
        if model.shared_gate:
            found[f"{at}shared_scale"] = (d, 1)
    return {
        name: draw.normal(size=shape) / math.sqrt(max(shape[0], 4)) for name, shape in found.items()
    }


def role_of(name):
    """What a weight is stored as."""
    kept = {"embedding": "embedding", "positions": "embedding", "lm_head": "lm_head"}
    if name in kept:
        return kept[name]
    if name.endswith((".bias", ".gain", ".shift")):
        return "vector"
    return "expert" if ".expert" in name else "matrix"


class Place(NamedTuple):
    """Where a chip stands: its rank among those that share a layer, and its replica.

    ``expert`` shares of the experts lie within a replica or across the ``data`` replicas.
    """

    rank: int = 0
    chips: int = 1
    replica: int = 0
    data: int = 1
    expert: int = 1

    @property
    def exchanges(self):
        return self.chips % self.expert > 0

    def experts(self, model):
        """The experts that this chip holds, which part of each, and of how many parts."""
        chips, rank = self.chips, self.rank
        if self.exchanges:
            chips, rank = self.chips * self.data, self.replica * self.chips + self.rank
        parts, each = chips // self.expert, model.experts // self.expert
        first = rank // parts * each
        return range(first, first + each), rank % parts, parts


def share(model, weights, place):
    """What one of several chips holds: heads, widths and vocabulary cut, all else whole."""
    width, rank, chips = model.head_dim, place.rank, place.chips
    mine = range(rank * model.heads // chips, (rank + 1) * model.heads // chips)
    group = model.heads // model.kv_heads
    of = {"q": (mine, width), "o": (mine, width)}
    kept = range(mine[0] // group, mine[-1] // group + 1)
    of["k"] = of["v"] = kept, width
    if model.latent:
        _, _, nope, rope, value = model.latent
        of = {"q": (mine, nope + rope), "kv_up": (mine, nope + value), "o": (mine, value)}
    experts, slot, slots = place.experts(model) if model.experts else ((), 0, 1)
    per = math.ceil(model.vocabulary / chips)
    held = {}
    for name, values in weights.items():
        part, *bias = name.split(".")[1:] if name[0].isdigit() else (name,)
        mlp = part in ("mlp", "shared") or part.startswith("expert")
        at, of_all = rank, chips
        if part.startswith("expert"):
            if int(part.removeprefix("expert")) not in experts:
                continue
            at, of_all = slot, slots
        if name in ("embedding", "lm_head"):
            values = values[rank * per : (rank + 1) * per]
        elif part in of:
            heads, width = of[part]
            columns = [head * width + column for head in heads for column in range(width)]
            if part != "o":
                values = values[..., columns]
            elif not bias:
                values = values[columns]
        elif mlp and bias[0] == "down":
            size = len(values) // of_all
            values = values if len(bias) > 1 else values[at * size : (at + 1) * size]
        elif mlp:
            size = values.shape[-1] // of_all
            values = values[..., at * size : (at + 1) * size]
        held[name] = values
    return held


def kv_heads_on(model, chips):
    """KV heads of one chip: its share, or one where there are fewer heads than chips."""
    return max(model.kv_heads // chips, 1)


class Chip:
    """One chip's part of a model: its weights, its cache, and its tape of the pass."""

    def __init__(self, model, weights, place, batch, length, *, rows=None, stages=1, carried=False):
        self.model, self.place, self.rank, self.chips = model, place, place.rank, place.chips
        self.rows, self.stages, self.carried = rows, stages, carried
        self.held = share(model, weights, place)
        shape = (batch, kv_heads_on(model, place.chips), length, model.head_dim)
        self.caches = [(np.zeros(shape), np.zeros(shape)) for _ in range(model.layers)]
        if model.latent:
            width = model.latent[0] + model.latent[3]
            self.caches = [np.zeros((batch, length, width)) for _ in range(model.layers)]

    def forward(self, tokens, start, how, routing=None):
        """Tokens [batch, new] after ``start`` others, as a generator that yields partial sums.

        Yields (name, array) for each collective and is sent what it gave; returns the logits of
        the last token. ``how`` is "fused" or "unfused" attention.
        """
        self.tape, model = Tape(), self.model
        tape, new, self.tokens = self.tape, tokens.shape[1], tokens.shape
        self.arrays = {
            name: tape.memory(values, role_of(name)) for name, values in self.held.items()
        }
        with tape.operation("embedding"):
            x = self._look_up("embedding", tokens)
            # One of the chips adds what the sum may hold but once.
            if model.positions and self.rank == 0:
                x = x + self.arrays["positions"][start : start + new]
        x = yield from self._reduced("embedding_all_reduce", x)
        for block in range(model.layers):
            tape.block, at = block, f"{block}."
            if block and block * self.stages % model.layers < self.stages:
                part = model.hidden // self.chips
                mine = x[..., self.rank * part : (self.rank + 1) * part]
                x = yield from self._reduced("send", mine, always=True)
            normed = self._norm("attn_norm", f"{at}attn_norm", x)
            attend = self._latent_attention if model.latent else self._attention
            attended = attend(block, normed, start, how)
            with tape.operation("o_proj"):
                out = self._linear(attended, f"{at}o", self.rank)
            if not model.parallel:
                out = yield from self._reduced("attn_all_reduce", out)
                with tape.operation("attn_add"):
                    x = x + out
            if model.block_norms > 1:
                normed = self._norm("mlp_norm", f"{at}mlp_norm", x)
            if model.routes(block):
                more = yield from self._experts(at, normed, routing)
            else:
                more = self._mlp(f"{at}mlp.", normed, "{}_proj", "mlp_act", self.rank)
            more = yield from self._reduced("mlp_all_reduce", more)
            with tape.operation("mlp_add"):
                x = x + out + more if model.parallel else x + more
        tape.block = None
        x = self._norm("final_norm", "final_norm", x[:, -1])
        with tape.operation("lm_head"):
            head = self.arrays["embedding" if model.tied else "lm_head"]
            logits = x.matmul(head.T)
        logits = yield from self._reduced("logits_all_gather", logits)
        with tape.operation("sample"):
            return logits.copy().values

    def _reduced(self, name, partial, always=False):
        if self.chips == 1 and not always:
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

    def _linear(self, x, name, part=0, columns=None):
        """x · W + b, or some columns of it; of what chips add up, the first part has the bias."""
        if x.buffer.role == "stream":
            x.buffer.role = "activation"
        matrix = self.arrays[name] if columns is None else self.arrays[name][:, columns]
        return x.matmul(matrix, start=None if part else self.arrays.get(f"{name}.bias"))

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

    def _latent_attention(self, block, x, start, how):
        """K and V of each head made from the vectors in the cache, or queries carried to these."""
        (rank, queries, nope, rope, _), tape, at = self.model.latent, self.tape, f"{block}."
        batch, new = x.shape[:2]
        cache = tape.memory(self.caches[block], "cache")
        here, given = cache[:, start : start + new], x
        of_a_head = np.arange(nope + rope) < nope
        without = np.tile(of_a_head, self.model.heads // self.chips)
        with_place = ~without
        if queries:
            with tape.operation("q_down_proj"):
                given = self._linear(x, f"{at}q_down")
            given = self._norm("q_norm", f"{at}q_norm", given)
        with tape.operation("q_proj"):
            q, placed = (
                by_head(self._linear(given, f"{at}q", columns=part), batch, new, width)
                for part, width in ((without, nope), (with_place, rope))
            )
        with tape.operation("kv_down_proj"):
            kv = self._linear(x, f"{at}kv_down")
        with tape.operation("kv_norm"):
            tape.store(self._normed(f"{at}kv_norm", kv[..., :rank]), here[..., :rank])
        with tape.operation("rotary"):
            placed = self._turned(start, placed)
        with tape.operation("rotary_key"):
            tape.store(self._turned(start, kv[..., rank:]), here[..., rank:])
        end = start + new
        vectors, places = cache[:, :end, :rank], cache[:, :end, rank:]
        up = self.arrays[f"{at}kv_up"].reshape(rank, q.shape[1], -1)
        if self.carried:
            with tape.operation("kv_up_proj"):
                q = self._each(q, lambda b, h: q[b, h].matmul(up[:, h, :nope].T))
            out = self._met(q, placed, lambda b, h: (vectors[b], places[b], vectors[b]), start, how)
            with tape.operation("kv_up_proj"):
                out = self._each(q, lambda b, h: out[b, h].matmul(up[:, h, nope:]))
        else:
            with tape.operation("kv_up_proj"):
                made = by_head(vectors.matmul(up.reshape(rank, -1)), batch, end, up.shape[-1])
            out = self._met(
                q, placed,
                lambda b, h: (made[b, h, :, :nope], places[b], made[b, h, :, nope:]), start, how,
            )  # fmt: skip
        return out._arranged(lambda each: np.moveaxis(each, 1, 2).reshape(batch, new, -1))

    def _each(self, q, made):
        """What is made for each sequence and head, as one array."""
        rows = [made(b, h) for b, h in np.ndindex(*q.shape[:2])]
        return joined(rows, (*q.shape[:2], *rows[0].shape))

    def _met(self, q, placed, of, start, how):
        """Queries without and with place meet ``of`` a sequence and head (keys, places, values)."""

        def scores(b, h, rows, seen):
            keys, places, _ = of(b, h)
            found = q[b, h, rows].matmul(keys[seen].T)
            return placed[b, h, rows].matmul(places[seen].T, start=found)

        new, every = q.shape[2], slice(None)
        if how == "fused":
            with self.tape.operation("attention"):

                def attended(b, h):
                    rows = [
                        self._softmax(scores(b, h, slice(i, i + 1), slice(start + i + 1))).matmul(
                            of(b, h)[2][: start + i + 1]
                        )
                        for i in range(new)
                    ]
                    return joined(rows, (new, rows[0].shape[-1]))

                return self._each(q, attended)
        with self.tape.operation("qk_matmul"):
            found = self._each(q, lambda b, h: scores(b, h, every, every))
        hidden = np.arange(start + new) > start + np.arange(new)[:, None]
        with self.tape.operation("softmax"):
            found = self._softmax(found.where_not(hidden))
        with self.tape.operation("sv_matmul"):
            return self._each(q, lambda b, h: found[b, h].matmul(of(b, h)[2]))

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

    def _mlp(self, at, x, matrix, act, part):
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
            return self._linear(inner, f"{at}down", part)

    def _experts(self, at, x, routing):
        model, tape = self.model, self.tape
        flat = x.reshape(-1, model.hidden)
        with tape.operation("router"):
            scores = self._linear(flat, f"{at}router")
        with tape.operation("gating"):
            gates = scores.copy().values
        if routing is None:
            chosen = np.argsort(-gates, axis=-1)[:, : model.experts_per_token]
        else:
            chosen = routing[self.place.replica * len(gates) :][: len(gates)]
        gates = [dict(zip(row, _shares(gates[token, row]), strict=True))
                 for token, row in enumerate(chosen)]  # fmt: skip
        if self.place.exchanges:
            # Every token that visits an expert here, of whichever replica.
            arrived = yield "dispatch", (flat.values, gates)
            if arrived:
                flat = tape.memory(np.stack([values for _, values, _ in arrived]), "activation")
            gates = [each for _, _, each in arrived]
        made = {}
        held, slot, _ = self.place.experts(model)
        for expert in held:
            visitors = np.array([token for token, each in enumerate(gates) if expert in each])
            if visitors.size:
                out = self._mlp(f"{at}expert{expert}.", flat[visitors], "experts_{}", "experts_act",
                                slot)  # fmt: skip
                made |= {(token, expert): out[place] for place, token in enumerate(visitors)}

        def summed(token, start=None):
            here = [expert for expert in gates[token] if (token, expert) in made]
            rows = [made[token, expert] for expert in here]
            return self._mixed(rows, [gates[token][expert] for expert in here], start)

        if self.place.exchanges:
            with tape.operation("mixing"):
                back = {home: summed(token).values for token, (home, *_) in enumerate(arrived)}
            back = yield "combine", back
        shared = None
        if model.shared_width:
            if model.shared_gate:
                with tape.operation("shared_scale"):
                    scale = self._linear(x.reshape(-1, model.hidden), f"{at}shared_scale")
                with tape.operation("gating"):
                    scale = 1 / (1 + np.exp(-scale.copy().values))
            shared = self._mlp(f"{at}shared.", x.reshape(-1, model.hidden), "shared_{}",
                               "shared_act", self.rank)  # fmt: skip
        if self.place.exchanges:
            with tape.operation("adding"):
                total = back if shared is None else back + shared.copy().values
                return tape.fresh(total.reshape(x.shape))
        with tape.operation("experts_sum"):
            if model.shared_gate:
                shared = shared * tape.constant(scale)
            rows = [summed(token, None if shared is None else shared[token])
                    for token in range(len(gates))]  # fmt: skip
            return joined(rows, x.shape)

    def _mixed(self, rows, gates, start):
        """Rows added up with a gate each, from zero or from ``start``: multiply-adds."""
        for row in (*rows, *([] if start is None else [start])):
            self.tape.touch(row)
        total = np.zeros(self.model.hidden) if start is None else start.values
        for row, gate in zip(rows, gates, strict=True):
            total = total + row.values * gate
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


def run(model, tokens, *, cached=0, chips=1, data=1, expert=1, how="fused", routing=None, **each):
    """A pass over tokens [data · batch, cached + new]; the first ``cached`` go before, uncounted.

    ``each`` is for every chip: the ``rows`` of queries that fused attention keeps while the keys of
    a head pass, the ``stages`` of a pipeline, whether latent attention is ``carried``.
    """
    weights = weights_of(model)
    batch, length = len(tokens) // data, tokens.shape[1]
    ranks = [Chip(model, weights, Place(rank, chips, replica, data, expert), batch, length, **each)
             for replica in range(data) for rank in range(chips)]  # fmt: skip
    if cached:
        _together(ranks, tokens[:, :cached], 0, how, None)
    logits, sent = _together(ranks, tokens[:, cached:], cached, how, routing)
    return Run(logits, ranks, sent)


def _together(ranks, tokens, start, how, routing):
    data = ranks[0].place.data
    parts = np.split(tokens, data)
    passes = [rank.forward(parts[rank.place.replica], start, how, routing) for rank in ranks]
    given, sent = [None] * len(ranks), []
    while True:
        asked, ended = [], []
        for each, back in zip(passes, given, strict=True):
            try:
                asked.append(each.send(back))
            except StopIteration as stop:
                ended.append(stop.value)
        if ended:
            return np.concatenate(ended[:: len(ranks) // data]), sent
        name, values = asked[0][0], [values for _, values in asked]
        exchange = {"dispatch": _dispatched, "combine": _combined}.get(name, _collected)
        given, size = exchange(name, ranks, values)
        sent.append((name, size))


def _collected(name, ranks, values):
    """What the chips of each replica gather or add up, and the elements of it, or of a part."""
    chips, given = ranks[0].chips, []
    for first in range(0, len(values), chips):
        parts = values[first : first + chips]
        gathers = name.endswith("gather") or name == "send"
        whole = np.concatenate(parts, axis=-1) if gathers else sum(parts)
        given += [whole] * chips
    return given, values[0].size if name == "send" else whole.size


def _dispatched(name, ranks, values):
    """Each token once to each chip that holds an expert it visits, from its like in a replica.

    Every chip of a replica has the vectors of its tokens. The size is what comes to a chip from
    elsewhere, on average.
    """
    given, size = [], 0
    for chip in ranks:
        held = set(chip.place.experts(chip.model)[0])
        arrived = []
        for home, (vectors, gates) in zip(ranks, values, strict=True):
            if home.rank == chip.rank:
                for token, each in enumerate(gates):
                    if held & each.keys():
                        arrived.append(((home.place.replica, token), vectors[token], each))
                        size += (home is not chip) * vectors[token].size
        given.append(arrived)
    return given, size / len(ranks)


def _combined(name, ranks, values):
    """The sums of what the experts of each chip made, back to where the tokens are."""
    given, size = [], 0
    for home in ranks:
        batch, new = home.tokens
        total = np.zeros((batch * new, home.model.hidden))
        for chip, sums in zip(ranks, values, strict=True):
            for (replica, token), row in sums.items():
                if (replica, chip.rank) == (home.place.replica, home.rank):
                    total[token] += row
                    size += (home is not chip) * row.size
        given.append(total)
    return given, size / len(ranks)


def tokens_of(model, batch, length, chips=1):
    """Token ids, each another, so that the embedding reads a row for each; even among chips."""
    sequence, place = np.indices((batch, length))
    held = math.ceil(model.vocabulary / chips)
    return (sequence + place) % chips * held + sequence * length + place


def changed(**fields):
    return dataclasses.replace(Model(), **fields)
