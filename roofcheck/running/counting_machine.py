"""Record a student's function on a counting machine as plain data, and replay it.

A puzzle case **records** a function: it calls the function with a machine that logs every operation
in a *program*, a list of plain values that fit into JSON. The case then **replays** the program on
its own machine, with its own numbers, and uses the counts from there. The function sees handles but
no numbers, so the program is complete, and nothing else from the student's process has to be
trusted.
"""

import abc
import json
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from roofcheck.running.call_student import error_message, error_text
from roofcheck.sentences import join_items, sentence
from roofkit._units import format_quantity
from roofkit.network import Fabric, Group
from rooflab.scratchpad import Scratchpad

MOST_OPERATIONS = 20_000
LONGEST_ERROR = 300  # of a machine's error, which lists the blocks in fast memory
# The maximum depth of nested parts, and the maximum number of axes of an array.
DEEPEST_PART = 8
# A function that queries a fabric's contents more often than this is stopped as endless.
MOST_QUESTIONS = 10 * MOST_OPERATIONS
# The maximum number of elements in all arrays that a function creates.
MOST_ELEMENTS = 10**7
# A row is a multiple of another if the residual is at most this fraction of the row's norm.
PROPORTIONAL_RTOL = 1e-6


@dataclass(frozen=True)
class Count:
    """The result of a program: bytes moved, counts by name, a description, and any error."""

    moved_bytes: float = 0.0
    counts: Mapping[str, float] = field(default_factory=dict)
    words: str = ""
    wrong: str = ""


class TooLongError(BaseException):
    """Stops a function with too many operations; ``except Exception`` doesn't catch it."""


class Case(abc.ABC):
    """One size of a puzzle."""

    sentence_group: ClassVar[str]  # the key of the machine's sentences

    def sentence(self, key, **fields) -> str:
        """Return a sentence about this machine."""
        return sentence(f"{self.sentence_group}.{key}", **fields)

    @abc.abstractmethod
    def text(self) -> str:
        """Return the sizes in words."""

    @abc.abstractmethod
    def make_machine(self, record: Callable | None = None) -> tuple:
        """Return a function's arguments; their machine passes its operations to ``record``."""

    @abc.abstractmethod
    def operations(self, machine: tuple) -> Mapping[str, Callable]:
        """Return the functions, by name, that perform a program's operations on a machine."""

    @abc.abstractmethod
    def count(self, machine: tuple) -> Count:
        """Return the Count after a program has run."""

    def without_numbers(self) -> "Case":
        """Return the case with its numbers set to zero, which is enough to record a function."""
        return self

    def record(self, function) -> list | str:
        """Return a function's program, or the text of its error."""
        program: list = []

        def record(*operation):
            if len(program) >= MOST_OPERATIONS:
                raise TooLongError
            program.append(operation)

        try:
            with np.errstate(all="ignore"):
                function(*self.make_machine(record))
            return json.loads(json.dumps(program))
        except TooLongError:
            return self.sentence("too-long", most=MOST_OPERATIONS)
        except (Exception, SystemExit) as error:
            return sentence("puzzle.raised", error=error_text(error, LONGEST_ERROR))

    def replay(self, program) -> Count:
        """Return the Count of a program; its error is set if the data is not a valid program."""
        place = 0
        try:
            if len(program) > MOST_OPERATIONS:
                return Count(wrong=self.sentence("too-long", most=MOST_OPERATIONS))
            machine = self.make_machine()
            operations = self.operations(machine)
            with np.errstate(all="ignore"):
                for operation in program:
                    place += 1
                    name, *operands = operation
                    operations[name](*operands)
                return self.count(machine)
        except Exception as error:
            return Count(wrong=sentence("puzzle.malformed", place=place, why=error_message(error)))


@dataclass(frozen=True, eq=False)
class ScratchpadCase(Case):
    """A computation on a Scratchpad, performed by function(pad, inputs…, output).

    Parameters
    ----------
    sizes : mapping of name to length, for messages
    capacity : bytes of fast memory
    inputs : mapping of name to values
    output : name of the output
    result : the right output, computed with NumPy
    """

    sizes: Mapping[str, int]
    capacity: int
    inputs: Mapping[str, np.ndarray]
    output: str
    result: np.ndarray

    sentence_group = "scratchpad"

    def text(self):
        sizes = [f"{name} = {length}" for name, length in self.sizes.items()]
        room = self.sentence("room", room=format_quantity(self.capacity, "B"))
        return str(join_items([*sizes, room]))

    def without_numbers(self):
        inputs = {name: np.zeros(values.shape) for name, values in self.inputs.items()}
        return replace(self, inputs=inputs, result=np.zeros(self.result.shape))

    def make_machine(self, record=None):
        # While recording, the pad contains zeros, so the function can't read the numbers.
        pad = Scratchpad(self.capacity) if record is None else RecordingPad(self.capacity, record)
        inputs = (self if record is None else self.without_numbers()).inputs
        arrays = [Scratchpad.array(pad, values, name=name) for name, values in inputs.items()]
        arrays.append(Scratchpad.array(pad, shape=self.result.shape, name=self.output))
        if record is not None:
            pad._numbers.update({array: number for number, array in enumerate(arrays)})
        return (pad, *arrays)

    def operations(self, machine):
        pad, *handles = machine
        room = MOST_ELEMENTS

        def within(shape):
            nonlocal room
            # operator.index rejects strings, which math.prod would repeat into huge ones.
            lengths = [
                min(operator.index(length), MOST_ELEMENTS + 1) for length in shape[:DEEPEST_PART]
            ]
            room -= math.prod(lengths)
            if room < 0 or len(shape) > DEEPEST_PART:
                raise ValueError(self.sentence("too-large", most=MOST_ELEMENTS))
            return shape

        def at(part):
            number, *path = part
            handle = handles[number]
            for key in path[:DEEPEST_PART]:
                index = (slice(*part) if isinstance(part, list) else part for part in key)
                handle = handle.T if key == "T" else handle[tuple(index)]
            return handle

        def adding(make):
            return lambda *operands: handles.append(make(*operands))

        return {
            "array": adding(lambda shape: pad.array(shape=within(shape))),
            "load": adding(lambda region: pad.load(at(region))),
            "full": adding(lambda shape, value: pad.full(shape, float(value))),
            "store": lambda block, region: pad.store(at(block), at(region)),
            "free": lambda block: pad.free(at(block)),
            "matmul": lambda x, y, into: pad.matmul(at(x), at(y), into=at(into)),
            "apply": lambda name, *blocks: pad.apply(
                getattr(np, name), *map(at, blocks[:-1]), into=at(blocks[-1])
            ),
            "sum": lambda x, into, axis: pad.sum(at(x), into=at(into), axis=_read_axis(axis)),
            "max": lambda x, into, axis: pad.max(at(x), into=at(into), axis=_read_axis(axis)),
        }

    def count(self, machine):
        pad, *inputs, output = machine
        times = {
            name: array.loaded / array.nbytes
            for name, array in zip(self.inputs, inputs, strict=True)
        }
        # All other loads are from the output or from arrays created by the function.
        back = (pad.loaded - sum(array.loaded for array in inputs)) / output.nbytes
        counts = {
            **self.sizes, **times,
            "room": pad.capacity // 2,
            "used": pad.most_used / pad.capacity,
            "back": back,
            "out": output.stored / output.nbytes,
            "spilled": pad.stored - output.stored,
            "finite": bool(np.isfinite(output._values).all()),
            "proportional": _is_proportional(output._values, self.result),
        }  # fmt: skip
        crossings = [
            self.sentence("once" if count == 1 else "times", name=name, count=f"{count:.3g}")
            for name, count in times.items()
        ]
        try:
            pad.check(output, self.result)
            wrong = ""
        except ValueError as error:
            wrong = self.sentence("off", error=error)
        words = self.sentence("crossings", crossings=join_items(crossings))
        return Count(pad.cost.bytes, counts, words, wrong)


class RecordingPad(Scratchpad):
    """A Scratchpad that records its operations."""

    def __init__(self, capacity, record):
        super().__init__(capacity)
        self._record, self._numbers = record, {}

    def array(self, values=None, *, shape=None, name=None):
        if values is not None:
            raise ValueError(sentence("scratchpad.no-data"))
        array = super().array(shape=shape, name=name)
        return self._record_new(array, "array", list(array.shape))

    def load(self, region):
        return self._record_new(super().load(region), "load", self._path(region))

    def full(self, shape, value):
        block = super().full(shape, value)
        return self._record_new(block, "full", list(block.shape), f"{float(value):g}")

    def store(self, block, region):
        super().store(block, region)
        self._record("store", self._path(block), self._path(region))

    def free(self, *blocks):
        for block in blocks:
            super().free(block)
            self._record("free", self._path(block))

    def matmul(self, x, y, *, into):
        super().matmul(x, y, into=into)
        self._record("matmul", *map(self._path, (x, y, into)))

    def apply(self, ufunc, *blocks, into):
        super().apply(ufunc, *blocks, into=into)
        self._record("apply", ufunc.__name__, *map(self._path, (*blocks, into)))

    def sum(self, x, *, into, axis=None):
        super().sum(x, into=into, axis=axis)
        self._record("sum", self._path(x), self._path(into), axis)

    def max(self, x, *, into, axis=None):
        super().max(x, into=into, axis=axis)
        self._record("max", self._path(x), self._path(into), axis)

    def _record_new(self, handle, *operation):
        self._record(*operation)
        self._numbers[handle] = len(self._numbers)
        return handle

    def _path(self, handle):
        """Return a handle as plain values: the number of its array and the path to the part."""
        path = []
        while isinstance(handle._name, tuple):
            handle, key = handle._name
            path.append(
                "T" if key == "T" else [_index_as_data(index) for index in key if index is not ...]
            )
            if len(path) > DEEPEST_PART:
                raise ValueError(sentence("scratchpad.too-deep", most=DEEPEST_PART))
        return [self._numbers[handle], *reversed(path)]


@dataclass(frozen=True)
class NetworkCase(Case):
    """An all-gather among the chips of a group, performed by function(fabric)."""

    group: Group

    sentence_group = "fabric"

    def text(self):
        size = {"chips": self.group.n, "shape": self.group.shape}
        if not self.group.chip:
            return self.sentence("sizes-of-any", **size)
        return self.sentence("sizes", chip=self.group.chip.name, **size)

    def make_machine(self, record=None):
        if record is None:
            return (Fabric(self.group, self.group.n),)
        return (RecordingFabric(self.group, record),)

    def operations(self, machine):
        [fabric] = machine
        return {"send": fabric.send, "step": fabric.step}

    def count(self, machine):
        [fabric] = machine
        carried = {link: pieces for link, pieces in fabric.carried.items() if pieces}
        counts = {
            "n": fabric.n,
            "busiest": fabric.busiest,
            "sent": fabric.sent,
            "again": fabric.repeats,
            "waiting": fabric.waiting,
            "one_way": not any((target, source) in carried for source, target in carried),
            "idlest": min(fabric.carried.values(), default=0),
        }
        lacks = (
            self.sentence("lacks", chip=chip, pieces=join_items(map(str, pieces)))
            for chip, pieces in fabric.lacking.items()
        )
        words = self.sentence("carried", busiest=fabric.busiest, steps=fabric.steps)
        return Count(fabric.busiest, counts, words, next(lacks, ""))


class RecordingFabric(Fabric):
    """A Fabric that records its operations."""

    def __init__(self, group, record):
        super().__init__(group, group.n)
        self._record, self._questions_asked = record, 0

    def holds(self, chip, piece):
        self._count_question()
        return super().holds(chip, piece)

    def neighbours(self, chip):
        self._count_question()
        return super().neighbours(chip)

    @property
    def lacking(self):
        self._count_question()
        return super().lacking

    def _count_question(self):
        # A loop that only queries the fabric may never end.
        self._questions_asked += 1
        if self._questions_asked > MOST_QUESTIONS:
            raise TooLongError

    def send(self, source, target, piece):
        super().send(source, target, piece)
        self._record("send", int(source), int(target), int(piece))

    def step(self):
        super().step()
        self._record("step")


def _index_as_data(index):
    """Return an index as it is and a slice as its three numbers."""
    if not isinstance(index, slice):
        return operator.index(index)
    ends = index.start, index.stop, index.step
    return [None if end is None else operator.index(end) for end in ends]


def _read_axis(plain):
    return tuple(plain) if isinstance(plain, list) else plain


def _is_proportional(output, right):
    """Return whether each row is a positive multiple of the right row."""
    factors = (output * right).sum(axis=-1, keepdims=True) / (right**2).sum(axis=-1, keepdims=True)
    rest = np.linalg.norm(output - factors * right, axis=-1)
    near = rest <= PROPORTIONAL_RTOL * np.linalg.norm(output, axis=-1)
    return bool((factors > 0).all() and near.all())
