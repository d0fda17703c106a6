"""How nbval runs the lectures, which are built as if nobody had run them."""


def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(item, "output_timeout"):  # a cell; nbval gives a kernel five seconds to answer
            item.output_timeout = 300
            # nbval compares the outputs of a cell that has a count.
            item.cell.execution_count = 1
