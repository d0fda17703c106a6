"""Count the operations that each chip performs in a pass over a transformer.

A pass processes ``new`` tokens of each of ``batch`` sequences. The K and V of the ``cached`` tokens
before them are in the cache. A prefill has no cached tokens, and a decode step has one new token.
Chunked prefill, prefix caching and speculative decoding have several of both.

With fusion, neighbouring matmuls compute the norms, rotations, activations and residual adds, and
matmuls with the same input are merged. Every serious implementation aims for this, so the bytes are
a lower bound. Some matmuls with the same input have separate rows: the queries and a parallel MLP,
or a router and the shared expert. Only the first of them reads the input. If their results are
added to the residual stream together, only the last one reads and writes the stream. Without
fusion, each operation reads its operands from memory and writes its result.

With or without fusion, the final norm processes only the tokens that get logits.
"""

from typing import Any, NamedTuple

from roofkit.kernels import NORM_FLOPS
from roofkit.models.llm.attention import list_attention_operations
from roofkit.models.llm.experts import plan_experts
from roofkit.models.operations import Operation
from roofkit.roofline import smaller

# FLOPs per element; an exponential, a tanh or an erf counts as 1.
ACTIVATION_FLOPS = {"silu": 3, "gelu": 5, "relu": 1}
ROTARY_FLOPS = 3  # per element: two products and a sum


class CountOptions(NamedTuple):
    """All inputs of a count except the lengths: model, split, formats and kernels.

    ``shard`` is each chip's part of the model, and ``widths`` are bytes per element. ``linear``,
    ``routed``, ``attends`` and ``head`` are the dtypes of multiplications in dense matrices,
    experts, attention and lm_head. ``rates`` are the machine's ChipRates, which determine how
    latent attention is computed.
    """

    model: Any
    split: Any
    shard: Any
    widths: Any
    linear: str
    routed: str
    attends: str
    head: str
    fused: bool
    attention: str
    rates: Any


class PerToken(NamedTuple):
    """An Operation for one token; all values except the weights scale with the number of tokens.

    The operation processes all tokens of the pass or, with ``last``, the last token of each
    sequence. Its kernel has no row count yet, because there is one row per token.
    """

    operation: Operation
    last: bool = False

    def for_tokens(self, tokens):
        single = self.operation
        return single._replace(
            flops=single.flops * tokens, activations=single.activations * tokens,
            kv=single.kv * tokens if single.kv else 0.0,
            array=single.array * tokens if single.array else 0.0,
            kernel=single.kernel and (single.kernel[0], tokens, *single.kernel[1:]),
        )  # fmt: skip


class Pass:
    """A pass over ``new`` tokens of each of ``batch`` sequences, after ``cached`` tokens.

    ``decoding`` is a bool or an array of bools: whether there is exactly one new token.
    """

    def __init__(self, how, batch, new, cached=0.0, every_logit=False):
        self.how, self.model, self.widths = how, how.model, how.widths
        self.split, self.shard = how.split, how.shard
        self.batch, self.new, self.cached = batch, new, cached
        self.decoding = new == 1
        self.tokens = batch * new
        self.rows = self.tokens if every_logit else batch


def choose_pass_planner(how):
    """Return the parts of a pass: each is a PerToken, or a function from a Pass to Operations."""
    planned = (_FusedPlanner if how.fused else _UnfusedPlanner)(how)
    planned.parts.append(_embed_tokens)
    planned.add_collective("embedding_all_reduce", 1, "all-reduce", how.model.hidden)
    planned.attention()
    planned.add_feed_forward()
    planned.add_stage_send()
    planned.add_ends()
    return planned.parts


def list_operations(parts, at):
    operations = []
    for part in parts:
        if type(part) is PerToken:
            operations.append(part.for_tokens(at.rows if part.last else at.tokens))
        else:
            operations += part(at)
    return operations


def _embed_tokens(at):
    placed, d, w = at.model.positions > 0, at.model.hidden, at.widths
    # A chip reads each row of its part of the embedding at most once.
    gathered = smaller(at.tokens / at.split.tensor, float(at.shard.vocabulary))
    if placed:
        gathered = gathered + at.new
    yield Operation(
        "embedding", 1, placed * d * at.tokens, w.embedding * d * gathered,
        w.stream * d * at.tokens, 0.0, at.how.linear, True,
    )  # fmt: skip


class _Planner:
    """Base class that builds a plan part by part; subclasses differ in what they fuse."""

    def __init__(self, how):
        self.how, self.model, self.widths = how, how.model, how.widths
        self.split, self.shard = how.split, how.shard
        self.activation_flops = ACTIVATION_FLOPS[self.model.activation] + self.model.gated
        self.parts = []

    def add(
        self, name, count, flops, weights=0.0, activations=0.0, kv=0.0, kernel=(), on_stream=False,
        last=False,
    ):  # fmt: skip
        """Add an operation in the matrices' format; all values except the weights are per token.

        ``on_stream`` means that the activations include the residual stream, and ``last`` that the
        operation processes the same tokens as lm_head.
        """
        if kernel[:1] == ("matmul",):
            kernel = (*kernel, self.widths.weights)
        operation = Operation(name, count, flops, weights, activations, kv, self.how.linear,
                              on_stream, kernel=kernel)  # fmt: skip
        self.parts.append(PerToken(operation, last))

    def add_collective(self, name, count, collective, elements, last=False):
        """Add a collective over ``elements`` elements per token among the chips of a layer."""
        if self.split.tensor > 1:
            array = self.widths.travel * elements
            operation = Operation(name, count, collective=collective, array=array)
            self.parts.append(PerToken(operation, last))

    def add_stage_send(self):
        """Add the send of the residual stream from one pipeline stage to the next.

        Each chip sends only its part to its counterpart. The receiving stage gathers the parts,
        which is the second half of the all-reduce before the send.
        """
        if self.split.pipeline > 1:
            array = self.widths.travel * self.model.hidden / self.split.tensor
            count = self.split.pipeline - 1
            self.parts.append(PerToken(Operation("send", count, collective="send", array=array)))

    def matrix_cost(self, d_in, d_out, bias=False):
        """Return the FLOPs per token and the bytes of weights of a matrix."""
        weights = self.widths.weights * float(d_in * d_out)
        if bias:
            weights += self.widths.stream * float(d_out)
        return 2 * d_in * d_out, weights

    def norm(self, elements, width=None):
        """Return the FLOPs per token and the bytes of parameters of a norm."""
        parameters = self.model.norm_vectors * (elements if width is None else width)
        return NORM_FLOPS[self.model.norm] * elements, self.widths.stream * float(parameters)

    def query_norm_cost(self):

        wide = self.shard.q_dim + self.shard.kv_dim
        return self.norm(wide, 2 * self.model.head_dim if self.model.qk_norm == "head" else wide)

    def add_logits(self, flops=0.0, weights=0.0):
        """Add lm_head for the last token of each sequence, plus fused FLOPs and weights."""
        d, vocabulary, w = self.model.hidden, self.shard.vocabulary, self.widths
        weights += w.lm_head * float(d * vocabulary)
        weights += w.stream * float(self.model.head_bias * vocabulary)
        operation = Operation(
            "lm_head", 1, 2 * d * vocabulary + flops, weights, w.stream * (d + vocabulary), 0.0,
            self.how.head, kernel=("matmul", d, vocabulary, w.lm_head),
        )  # fmt: skip
        self.parts.append(PerToken(operation, last=True))
        self.add_collective("logits_all_gather", 1, "all-gather", self.model.vocabulary, last=True)

    def add_feed_forward(self):
        if self.model.dense_mlps:
            self.mlp(self.model.dense_mlps, self.shard.mlp, "{}_proj", "mlp_act",
                     self.model.mlp_bias)  # fmt: skip
        if self.model.expert_mlps:
            plan_experts(self)
        self.add_collective("mlp_all_reduce", self.model.layers, "all-reduce", self.model.hidden)


class _UnfusedPlanner(_Planner):
    """A planner whose operations read their operands from memory and write their results."""

    def linear(self, name, count, d_in, d_out, bias=False):
        flops, weights = self.matrix_cost(d_in, d_out, bias)
        self.add(name, count, flops, weights,
                 self.widths.activations * d_in + self.widths.stream * d_out,
                 kernel=("matmul", d_in, d_out))  # fmt: skip

    def add_cache_projection(self, name):
        d, w, kv_dim = self.model.hidden, self.widths, self.shard.kv_dim
        self.add(name, self.model.layers, *self.matrix_cost(d, kv_dim, self.model.qkv_bias),
                 w.activations * d, w.kv * self.shard.kv_cached, ("matmul", d, kv_dim))  # fmt: skip

    def add_norm(self, name, count, written, last=False):
        """Add a norm over the residual stream that writes ``written`` bytes per element."""
        d = self.model.hidden
        self.add(name, count, *self.norm(d), (self.widths.stream + written) * d,
                 kernel=(f"{self.model.norm}_norm", d), on_stream=True, last=last)  # fmt: skip

    def add_residual(self, name, terms=1):
        d = self.model.hidden
        self.add(name, self.model.layers, terms * d, 0.0, (2 + terms) * self.widths.stream * d,
                 kernel=("add", d) if terms == 1 else (), on_stream=True)  # fmt: skip

    def attention(self):
        model, n = self.model, self.model.layers
        self.add_norm("attn_norm", n, self.widths.activations)
        if model.latent:
            self.add_latent_projections()
        else:
            self.add_projections()
        self.parts.append(list_attention_operations)
        self.linear("o_proj", n, self.shard.o_dim, model.hidden, model.out_bias)
        if model.block_norms == 4:
            self.add_norm("attn_post_norm", n, self.widths.stream)
        if not model.parallel:
            self.add_collective("attn_all_reduce", n, "all-reduce", model.hidden)
            self.add_residual("attn_add")

    def add_projections(self):
        model, n, w = self.model, self.model.layers, self.widths
        q_dim, kv_dim = self.shard.q_dim, self.shard.kv_dim
        self.linear("q_proj", n, model.hidden, q_dim, model.qkv_bias)
        if model.rotary or model.qk_norm:
            self.linear("k_proj", n, model.hidden, kv_dim, model.qkv_bias)
        else:
            self.add_cache_projection("k_proj")
        self.add_cache_projection("v_proj")
        wide = q_dim + kv_dim
        # The last operation on K writes it to the cache.
        traffic = w.stream * (wide + q_dim), w.kv * self.shard.kv_cached
        if model.qk_norm:
            norm_traffic = (2 * w.stream * wide,) if model.rotary else traffic
            self.add("qk_norm", n, *self.query_norm_cost(), *norm_traffic)
        if model.rotary:
            self.add("rotary", n, ROTARY_FLOPS * wide, 0.0, *traffic)

    def add_latent_projections(self):
        model, n, w, wide = self.model, self.model.layers, self.widths, self.model.latent
        heads, d = self.shard.heads, model.hidden
        if wide.q_rank:
            self.linear("q_down_proj", n, d, wide.q_rank)
            self.add("q_norm", n, *self.norm(wide.q_rank),
                     (w.stream + w.activations) * wide.q_rank)  # fmt: skip
        self.linear("q_proj", n, wide.q_rank or d, heads * (wide.nope + wide.rope))
        self.linear("kv_down_proj", n, d, wide.kv_rank + wide.rope)
        self.add("kv_norm", n, *self.norm(wide.kv_rank), w.stream * wide.kv_rank,
                 w.kv * wide.kv_rank)  # fmt: skip
        queries, turned = heads * wide.rope, (heads + 1) * wide.rope
        self.add("rotary", n, ROTARY_FLOPS * turned, 0.0, w.stream * (turned + queries),
                 w.kv * wide.rope)  # fmt: skip

    def mlp(self, count, width, matrix, act, bias, shared=False):
        d, w = self.model.hidden, self.widths
        if self.model.gated:
            self.linear(matrix.format("gate"), count, d, width, bias)
        self.linear(matrix.format("up"), count, d, width, bias)
        moved = (1 + self.model.gated) * w.stream + w.activations
        kind = "gated_activation" if self.model.gated else "activation"
        self.add(act, count, self.activation_flops * width, 0.0, moved * width,
                 kernel=(kind, width))  # fmt: skip
        self.linear(matrix.format("down"), count, width, d, bias)

    def add_feed_forward(self):
        if self.model.block_norms > 1:
            self.add_norm("mlp_norm", self.model.layers, self.widths.activations)
        super().add_feed_forward()
        if self.model.block_norms == 4:
            self.add_norm("mlp_post_norm", self.model.layers, self.widths.stream)
        # Parallel attention and MLP add their results to the stream together.
        self.add_residual("mlp_add", 2 if self.model.parallel else 1)

    def add_ends(self):
        self.add_norm("final_norm", 1, self.widths.stream, last=True)
        self.add_logits()


class _FusedPlanner(_Planner):
    """A planner whose matmuls also do the elementwise work before and after them."""

    def block_norm_cost(self, half):
        """Return the FLOPs per token and bytes of the norms fused into one half of a block."""
        times = {1: (1, 0), 2: (1, 1), 4: (2, 2)}[self.model.block_norms][half]
        flops, weights = self.norm(self.model.hidden)
        return times * flops, times * weights

    def attention(self):
        model, n = self.model, self.model.layers
        if model.latent:
            self.add_latent_projections(*self.block_norm_cost(0))
        else:
            self.add_projections(*self.block_norm_cost(0))
        self.parts.append(list_attention_operations)
        flops, weights = self.matrix_cost(self.shard.o_dim, model.hidden, model.out_bias)
        self.add_onto_stream("o_proj", n, flops, weights, self.shard.o_dim, not model.parallel)
        if not model.parallel:
            self.add_collective("attn_all_reduce", n, "all-reduce", model.hidden)

    def add_onto_stream(self, name, count, flops, weights, d_in, last=True):
        """Add a matmul whose result is added to the residual stream.

        If several results are added together, only the ``last`` matmul reads and writes the stream.
        """
        d, w = self.model.hidden, self.widths
        self.add(name, count, flops + d, weights, w.activations * d_in + last * 2 * w.stream * d,
                 kernel=("matmul", d_in, d), on_stream=last)  # fmt: skip

    @property
    def stream_bytes_read(self):
        """Bytes of the stream that an MLP reads; 0 if a parallel attention already reads them."""
        return 0.0 if self.model.parallel else self.widths.stream * self.model.hidden

    def add_projections(self, flops, weights):
        model, w = self.model, self.widths
        q_dim, kv_dim = self.shard.q_dim, self.shard.kv_dim
        riding = [self.matrix_cost(model.hidden, q_dim + 2 * kv_dim, model.qkv_bias)]
        if model.qk_norm:
            riding.append(self.query_norm_cost())
        for more_flops, more_weights in riding:
            flops, weights = flops + more_flops, weights + more_weights
        if model.rotary:
            flops += ROTARY_FLOPS * (q_dim + kv_dim)
        self.add("qkv_proj", model.layers, flops, weights, w.stream * (model.hidden + q_dim),
                 w.kv * 2 * self.shard.kv_cached, ("matmul", model.hidden, q_dim + 2 * kv_dim),
                 on_stream=True)  # fmt: skip

    def add_latent_projections(self, flops, weights):
        model, w, wide, n = self.model, self.widths, self.model.latent, self.model.layers
        heads, d = self.shard.heads, model.hidden
        queries, cached = heads * (wide.nope + wide.rope), wide.kv_rank + wide.rope
        riding = [self.matrix_cost(d, cached + (wide.q_rank or queries))]
        riding += [self.norm(rank) for rank in (wide.q_rank, wide.kv_rank) if rank]
        for more_flops, more_weights in riding:
            flops, weights = flops + more_flops, weights + more_weights
        flops += ROTARY_FLOPS * (heads + 1) * wide.rope
        written = w.activations * wide.q_rank if wide.q_rank else w.stream * queries
        self.add("qkv_down_proj" if wide.q_rank else "qkv_proj", n, flops, weights,
                 w.stream * d + written, w.kv * cached,
                 ("matmul", d, cached + (wide.q_rank or queries)), on_stream=True)  # fmt: skip
        if wide.q_rank:
            self.add("q_proj", n, *self.matrix_cost(wide.q_rank, queries),
                     w.activations * wide.q_rank + w.stream * queries,
                     kernel=("matmul", wide.q_rank, queries))  # fmt: skip

    def mlp(self, count, width, matrix, act, bias, shared=False):
        model, w, d = self.model, self.widths, self.model.hidden
        flops, weights = self.matrix_cost(d, (1 + model.gated) * width, bias)
        read = 0.0
        if not shared:  # the router already reads the input and computes the norm
            norm_flops, norm_weights = self.block_norm_cost(1)
            flops, weights = flops + norm_flops, weights + norm_weights
            read = self.stream_bytes_read
        self.add(matrix.format("gate_up" if model.gated else "up"), count,
                 flops + self.activation_flops * width, weights, read + w.activations * width,
                 kernel=("matmul", d, (1 + model.gated) * width), on_stream=read > 0)  # fmt: skip
        flops, weights = self.matrix_cost(width, d, bias)
        flops += d * (shared and model.shared_gate)
        self.add_onto_stream(matrix.format("down"), count, flops, weights, width)

    def add_ends(self):
        self.add_logits(*self.norm(self.model.hidden))
