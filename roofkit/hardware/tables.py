"""Find chips by name, and read and check tables of chips in TOML."""

import functools
import os
import re
from pathlib import Path

from roofkit._names import find_by_name, index_by_name, normalise_name
from roofkit.hardware.chips import Chip, ChipTable
from roofkit.hardware.figures import FIGURE_KEYS, KINDS, UNITS, Figure, check_figure
from roofkit.hardware.interconnect import Interconnect

CHIPS_TABLE = Path(__file__).with_name("chips.toml")
CHIP_FILE = re.compile(r"(?P<path>.+\.toml)(:(?P<name>.+))?", re.IGNORECASE)


@functools.cache
def chips():
    """Return all chips in the table, as a ChipTable."""
    return load_chips(CHIPS_TABLE)


def chip(name):
    """Return the chip with this name or alias, ignoring case, spaces and hyphens.

    To use your own table in the format of chips.toml, pass the path of a .toml file. If it has
    several chips, choose one with "mine.toml:name". A Chip is returned unchanged.

    Raises ValueError with similar names if the table has no chip of this name, and with the name of
    the file if it cannot be read.

    >>> chip("tpu-v5e").bandwidth
    8.19e+11 byte/s
    >>> chip("H100").sku
    'NVIDIA H100 SXM5 80GB'
    """
    if isinstance(name, Chip):
        return name
    name = os.fspath(name) if isinstance(name, os.PathLike) else name
    if isinstance(name, str) and (match := CHIP_FILE.fullmatch(name)):
        return _find_chip_in_file(match["path"], match["name"])
    if isinstance(name, str) and name.casefold().endswith(".json"):
        raise ValueError(
            f"{name} isn't a table of chips (TOML); to make one from a saved measurement (JSON), "
            "use rooflab.machine.Measurements.load(path).save_chip(table)"
        )
    return find_by_name(name, _index_chips(), "chip")


@functools.cache
def _index_chips():
    return index_by_name({name: chip for chip in chips() for name in (chip.name, *chip.aliases)})


def load_chips(path):
    """Read and check a TOML file in the format of chips.toml, and return a ChipTable.

    Raises ValueError for a missing unit, source or kind, an unknown key, or a name shared by two
    chips. The message names the file, the chip and the key.
    """
    import tomllib  # imported only to read a table, to keep ``import roofkit`` fast

    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"cannot read {path}: {error.strerror}; give the path of a TOML file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not valid TOML: {error}") from None
    entries = table.get("chip")
    if not entries or not isinstance(entries, list) or not isinstance(entries[0], dict):
        raise ValueError(f"{path.name}: no [[chip]] found")
    sources = table.get("sources", {})
    if not isinstance(sources, dict):
        raise ValueError(f"{path.name}: [sources] must map short names to references")
    chips = ChipTable(_read_chip(entry, sources, path.name) for entry in entries)
    owners = {}
    for chip in chips:
        for key in {normalise_name(name) for name in (chip.name, *chip.aliases)}:
            if key in owners:
                raise ValueError(
                    f"{path.name}: {owners[key]} and {chip.name} share the name {key!r}; rename one"
                )
            owners[key] = chip.name
    return chips


def _find_chip_in_file(path, name):
    """Return the only chip in a TOML file, or the one called ``name``."""
    path = Path(path)
    chips = load_chips(path)
    named = {known: chip for chip in chips for known in (chip.name, *chip.aliases)}
    if name is not None:
        return find_by_name(name, index_by_name(named), f"chip of {path.name}")
    if len(chips) > 1:
        listed = ", ".join(chip.name for chip in chips)
        raise ValueError(
            f'{path.name} has {len(chips)} chips: {listed}; name one: "{path}:{chips[0].name}"'
        )
    return chips[0]


def _read_chip(entry, sources, file):
    entry = dict(entry)
    name = entry.pop("name", None)
    where = f"{file}: chip {name!r}"
    if not isinstance(name, str) or not name:
        raise ValueError(f"{file}: a [[chip]] has no name")
    sku = entry.pop("sku", None)
    if not isinstance(sku, str) or not sku:
        raise ValueError(f"{where} has no sku; give the exact product that it describes")
    aliases = entry.pop("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(a, str) and a for a in aliases):
        raise ValueError(f"{where} has aliases {aliases!r}; write a list of names")
    peaks = entry.pop("peak", {})
    if not isinstance(peaks, dict):
        raise ValueError(f"{where}: peak must be a table of dtypes, got {peaks!r}")
    peaks = {
        dtype: _read_figure(raw, "peak", sources, f"{where}: peak.{dtype}")
        for dtype, raw in peaks.items()
    }
    layout = None
    if isinstance(entry.get("interconnect"), dict):
        entry["interconnect"] = dict(entry["interconnect"])
        layout = entry["interconnect"].pop("layout", None)
    figures = {}
    for group, members in entry.items():
        grouped = isinstance(members, dict) and group not in UNITS
        for member, raw in members.items() if grouped else ((None, members),):
            key = f"{group}.{member}" if member else group
            if key not in UNITS:
                known = ", ".join((*UNITS, "interconnect.layout"))
                raise ValueError(f"{where} has an unknown key {key!r}; known: {known}")
            figures[key] = _read_figure(raw, key, sources, f"{where}: {key}")
    return Chip(
        name,
        peaks,
        **{name: figures.get(key) for name, key in FIGURE_KEYS.items()},
        sku=sku,
        aliases=tuple(aliases),
        interconnect=_read_interconnect(layout, figures, sources, where),
    )


def _read_interconnect(layout, figures, sources, where):
    bandwidth = figures.get("interconnect.bandwidth")
    if layout is None and bandwidth is None:
        return None
    where = f"{where}: interconnect"
    if layout is None or bandwidth is None:
        raise ValueError(f"{where} must have both bandwidth and layout")
    if not isinstance(layout, dict):
        raise ValueError(f"{where}.layout must be a table with links and source, got {layout!r}")
    unknown = set(layout) - {
        "links", "topology", "largest", "slices", "wraps", "wraps_together", "reduces", "source",
        "note",
    }  # fmt: skip
    if unknown:
        raise ValueError(f"{where}.layout has unknown entries: {', '.join(sorted(unknown))}")
    cited = _read_source(layout, sources, f"{where}.layout")
    slices = layout.get("slices", [])
    if not isinstance(slices, list):
        raise ValueError(f"{where}.layout has slices {slices!r}; write a list such as ['2x4']")
    slices = tuple(_read_slice(text, where) for text in slices)
    layout = {"links": None, **layout, "slices": slices, "source": cited}
    try:
        return Interconnect(
            bandwidth=bandwidth, latency=figures.get("interconnect.latency"), **layout
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _read_slice(text, where):
    lengths = text.split("x") if isinstance(text, str) else []
    if not lengths or not all(length.isdecimal() for length in lengths):
        raise ValueError(f"{where} has slice {text!r}; write lengths as in '2x4'")
    return tuple(map(int, lengths))


def _read_source(raw, sources, where):
    source = raw.get("source")
    cited = sources.get(source) if isinstance(source, str) else None
    if not isinstance(cited, str) or not cited:
        raise ValueError(
            f"{where} has source {source!r}, which is not in [sources]; every value needs a source"
        )
    return cited


def _read_figure(raw, key, sources, where):
    if not isinstance(raw, dict):
        raise ValueError(f"{where} must be a table with value, unit and source, got {raw!r}")
    unknown = set(raw) - {"value", "unit", "kind", "source", "note", "confirmed"}
    if unknown:
        raise ValueError(f"{where} has unknown entries: {', '.join(sorted(unknown))}")
    cited = _read_source(raw, sources, where)
    if raw.get("unit") != UNITS[key]:
        raise ValueError(f"{where} has unit {raw.get('unit')!r}; it must be {UNITS[key]!r}")
    if raw.get("kind", "") != KINDS.get(key, ""):
        raise ValueError(
            f"{where} has kind {raw.get('kind', '')!r}; it must be {KINDS.get(key, '')!r} "
            "(halve a sparse peak, halve a bidirectional link)"
        )
    confirmed = raw.get("confirmed", True)
    if not isinstance(confirmed, bool):
        raise ValueError(f"{where} has confirmed = {confirmed!r}; it must be true or false")
    if key == "peak" and not confirmed:
        raise ValueError(f"{where} is not confirmed; omit unconfirmed peaks")
    return Figure(
        check_figure(raw.get("value"), key, where),
        raw["unit"],
        source=cited,
        kind=raw.get("kind", ""),
        note=raw.get("note", ""),
        confirmed=confirmed,
    )
