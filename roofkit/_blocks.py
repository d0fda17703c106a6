"""Evaluate a function over large broadcast arrays, in blocks that fit in a core's cache."""

import numpy as np

# Points per block. A function may allocate dozens of temporary arrays of this length.
BLOCK_POINTS = 1 << 14


def evaluate_in_blocks(function, *values):
    """Return ``function(*values)`` for values that broadcast, using bounded temporary memory.

    Values other than arrays are passed on unchanged. Arrays keep their axes of length 1, so terms
    that depend on only one axis are computed once per block.
    """
    shapes = [value.shape for value in values if _is_array(value)]
    if not shapes:
        return function(*values)
    shape = np.broadcast_shapes(*shapes)
    result = np.empty(shape)
    _fill_result(
        result,
        function,
        map_arrays(lambda a: a.reshape((1,) * (len(shape) - a.ndim) + a.shape), values),
    )
    return result


def map_arrays(change, values):
    """Return the values, with ``change`` applied to each array among them."""
    return [change(value) if _is_array(value) else value for value in values]


def _fill_result(result, function, values):
    if result.size <= BLOCK_POINTS:
        result[...] = function(*values)
        return
    axis = int(np.argmax(result.shape))
    middle = result.shape[axis] // 2
    for half in (slice(None, middle), slice(middle, None)):
        part = (slice(None),) * axis + (half,)

        def cut(array, part=part):
            return array[part] if array.shape[axis] > 1 else array

        _fill_result(result[part], function, map_arrays(cut, values))


def _is_array(value):
    return isinstance(value, np.ndarray)
